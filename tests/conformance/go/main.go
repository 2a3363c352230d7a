// The same steps with three Go clients on each of the given servers: franz-go (which kcl uses), sarama (kaf, kafkactl)
// and kafka-go (topicctl). A line has the server, the client and step, and the outcome.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	franzplain "github.com/twmb/franz-go/pkg/sasl/plain"
)

type server struct {
	number  int
	address string
	client  string
}

func main() {
	for index, address := range os.Args[1:] {
		franz(server{index + 1, address, "franz-go"})
		ibm(server{index + 1, address, "sarama"})
		segment(server{index + 1, address, "kafka-go"})
	}
}

// login is by SASL/PLAIN over TLS where STEPS_CA names a CA.
func login() (*tls.Config, string, string) {
	path := os.Getenv("STEPS_CA")
	if path == "" {
		return nil, "", ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return &tls.Config{RootCAs: pool}, os.Getenv("STEPS_USER"), os.Getenv("STEPS_PASSWORD")
}

func (s server) step(name string, action func() (any, error)) {
	outcome := s.outcome(action)
	fmt.Printf("%d|%s %s|%s\n", s.number, s.client, name, strings.ReplaceAll(outcome, s.address, "SERVER"))
}

// until repeats a step: a real broker hears of a change from its controller.
func (s server) until(name string, wanted any, action func() (any, error)) {
	text, _ := json.Marshal(wanted)
	for range 200 {
		if s.outcome(action) == string(text) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.step(name, action)
}

func (s server) outcome(action func() (any, error)) string {
	found, err := action()
	if err != nil {
		var code *kerr.Error
		var reply kafka.Error
		var ibmCode sarama.KError
		switch {
		case errors.As(err, &code):
			return code.Message
		case errors.As(err, &reply):
			return fmt.Sprintf("error %d", int(reply))
		case errors.As(err, &ibmCode):
			return fmt.Sprintf("error %d", int16(ibmCode))
		}
		return fmt.Sprintf("%T", err)
	}
	text, _ := json.Marshal(found)
	return string(text)
}

func franz(s server) {
	ctx, topic := context.Background(), "franz"
	options := []kgo.Opt{kgo.SeedBrokers(s.address)}
	if trust, user, password := login(); trust != nil {
		options = append(options, kgo.DialTLSConfig(trust), kgo.SASL(franzplain.Auth{User: user, Pass: password}.AsMechanism()))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		panic(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	value := "1000"
	s.step("create", func() (any, error) {
		_, err := admin.CreateTopic(ctx, 2, 1, map[string]*string{"retention.ms": &value}, topic)
		return nil, err
	})
	partitions := func() (any, error) {
		found, err := admin.ListTopics(ctx, topic)
		return len(found[topic].Partitions), err
	}
	s.until("created", 2, partitions)
	s.step("create again", func() (any, error) { _, err := admin.CreateTopic(ctx, 2, 1, nil, topic); return nil, err })
	s.step("grow", func() (any, error) {
		found, err := admin.CreatePartitions(ctx, 1, topic)
		if err == nil {
			err = found.Error()
		}
		return nil, err
	})
	s.until("grown", 3, partitions)
	s.step("alter", func() (any, error) {
		wanted := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: kadm.StringPtr("2000")}}
		found, err := admin.AlterTopicConfigs(ctx, wanted, topic)
		if err == nil {
			err = found[0].Err
		}
		return nil, err
	})
	s.until("altered", "2000", func() (any, error) {
		found, err := admin.DescribeTopicConfigs(ctx, topic)
		for _, each := range found[0].Configs {
			if each.Key == "retention.ms" {
				return each.MaybeValue(), err
			}
		}
		return nil, err
	})
	s.step("start offsets", func() (any, error) {
		found, err := admin.ListStartOffsets(ctx, topic)
		return found.Offsets(), err
	})
	s.step("end offsets", func() (any, error) { found, err := admin.ListEndOffsets(ctx, topic); return found.Offsets(), err })
	s.step("groups", func() (any, error) { found, err := admin.ListGroups(ctx); return found.Groups(), err })
	s.step("group", func() (any, error) {
		found, err := admin.DescribeGroups(ctx, "none")
		if err == nil {
			err = found.Error()
		}
		return found["none"].State, err
	})
	s.step("group offsets", func() (any, error) { found, err := admin.FetchOffsets(ctx, "none"); return found.Offsets(), err })
	s.step("delete group", func() (any, error) { _, err := admin.DeleteGroup(ctx, "none"); return nil, err })
	s.step("transactions", func() (any, error) {
		found, err := admin.ListTransactions(ctx, nil, nil)
		return found.TransactionalIDs(), err
	})
	s.step("producers", func() (any, error) {
		set := kadm.TopicsSet{}
		set.Add(topic, 0)
		found, err := admin.DescribeProducers(ctx, set)
		return len(found[topic].Partitions[0].ActiveProducers), err
	})
	s.step("reassignments", func() (any, error) {
		set := kadm.TopicsSet{}
		set.Add(topic, 0, 1)
		found, err := admin.ListPartitionReassignments(ctx, set)
		return len(found), err
	})
	s.step("elect", func() (any, error) {
		set := kadm.TopicsSet{}
		set.Add(topic, 0)
		found, err := admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, set)
		if err == nil {
			err = found[topic][0].Err
		}
		return nil, err
	})
	s.step("delete", func() (any, error) { _, err := admin.DeleteTopic(ctx, topic); return nil, err })
	s.until("deleted", 0, partitions)
}

func ibm(s server) {
	topic, config := "sarama", sarama.NewConfig()
	config.Version = sarama.V3_0_0_0
	if trust, user, password := login(); trust != nil {
		config.Net.TLS.Enable, config.Net.TLS.Config = true, trust
		config.Net.SASL.Enable, config.Net.SASL.Handshake = true, true
		config.Net.SASL.Version = sarama.SASLHandshakeV1
		config.Net.SASL.User, config.Net.SASL.Password = user, password
	}
	admin, err := sarama.NewClusterAdmin([]string{s.address}, config)
	if err != nil {
		s.step("connect", func() (any, error) { return nil, err })
		return
	}
	defer admin.Close()
	value := "1000"
	detail := &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1, ConfigEntries: map[string]*string{"retention.ms": &value}}
	s.step("validate", func() (any, error) { return nil, admin.CreateTopic(topic, detail, true) })
	s.step("create", func() (any, error) { return nil, admin.CreateTopic(topic, detail, false) })
	partitions := func() (any, error) {
		found, err := admin.ListTopics()
		return found[topic].NumPartitions, err
	}
	s.until("created", 2, partitions)
	s.step("grow", func() (any, error) { return nil, admin.CreatePartitions(topic, 3, nil, false) })
	s.until("grown", 3, partitions)
	s.step("shrink", func() (any, error) { return nil, admin.CreatePartitions(topic, 1, nil, false) })
	s.step("alter", func() (any, error) {
		text := "2000"
		entries := map[string]sarama.IncrementalAlterConfigsEntry{
			"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &text},
		}
		return nil, admin.IncrementalAlterConfig(sarama.TopicResource, topic, entries, false)
	})
	s.until("altered", "2000", func() (any, error) {
		resource := sarama.ConfigResource{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{"retention.ms"}}
		found, err := admin.DescribeConfig(resource)
		if err != nil {
			return nil, err
		}
		return found[0].Value, nil
	})
	s.step("reassign", func() (any, error) {
		return nil, admin.AlterPartitionReassignments(topic, [][]int32{{1}, {1}, {1}})
	})
	s.step("reassignments", func() (any, error) {
		found, err := admin.ListPartitionReassignments(topic, []int32{0, 1})
		return len(found), err
	})
	s.step("delete records", func() (any, error) { return nil, admin.DeleteRecords(topic, map[int32]int64{0: 0}) })
	s.step("groups", func() (any, error) { return admin.ListConsumerGroups() })
	s.step("group", func() (any, error) {
		found, err := admin.DescribeConsumerGroups([]string{"none"})
		if err != nil {
			return nil, err
		}
		return found[0].State, nil
	})
	s.step("group offsets", func() (any, error) {
		found, err := admin.ListConsumerGroupOffsets("none", map[string][]int32{topic: {0}})
		if err != nil {
			return nil, err
		}
		return found.GetBlock(topic, 0).Offset, nil
	})
	s.step("acls", func() (any, error) {
		return admin.ListAcls(sarama.AclFilter{
			Version:                   1,
			ResourceType:              sarama.AclResourceAny,
			ResourcePatternTypeFilter: sarama.AclPatternAny,
			Operation:                 sarama.AclOperationAny,
			PermissionType:            sarama.AclPermissionAny,
		})
	})
	s.step("users", func() (any, error) { return admin.DescribeUserScramCredentials([]string{}) })
	s.step("log dirs", func() (any, error) {
		found, err := admin.DescribeLogDirs([]int32{1})
		return len(found[1]), err
	})
	s.step("delete", func() (any, error) { return nil, admin.DeleteTopic(topic) })
}

func segment(s server) {
	ctx, topic := context.Background(), "kafka-go"
	client := &kafka.Client{Addr: kafka.TCP(s.address), Timeout: 20 * time.Second}
	if trust, user, password := login(); trust != nil {
		client.Transport = &kafka.Transport{TLS: trust, SASL: plain.Mechanism{Username: user, Password: password}}
	}
	s.step("versions", func() (any, error) {
		found, err := client.ApiVersions(ctx, &kafka.ApiVersionsRequest{})
		names := []string{}
		for _, each := range found.ApiKeys { // what topicctl looks for
			if slices.Contains([]string{"ElectLeaders", "AlterPartitionReassignments", "ListPartitionReassignments",
				"IncrementalAlterConfigs", "DescribeUserScramCredentials"}, each.ApiName) {
				names = append(names, each.ApiName)
			}
		}
		slices.Sort(names)
		return names, err
	})
	s.step("create", func() (any, error) {
		found, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{
			Topic:              topic,
			ReplicaAssignments: []kafka.ReplicaAssignment{{Partition: 0, Replicas: []int{1}}},
			NumPartitions:      -1, ReplicationFactor: -1,
		}}})
		if err == nil {
			err = found.Errors[topic]
		}
		return nil, err
	})
	partitions := func() (any, error) {
		found, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
		if err == nil {
			err = found.Topics[0].Error
		}
		if err != nil {
			return nil, err
		}
		return len(found.Topics[0].Partitions), nil
	}
	s.until("created", 1, partitions)
	s.step("grow", func() (any, error) {
		found, err := client.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{{
			Name: topic, Count: 2,
			TopicPartitionAssignments: []kafka.TopicPartitionAssignment{{BrokerIDs: []int32{1}}},
		}}})
		if err == nil {
			err = found.Errors[topic]
		}
		return nil, err
	})
	s.until("grown", 2, partitions)
	s.step("elect", func() (any, error) {
		found, err := client.ElectLeaders(ctx, &kafka.ElectLeadersRequest{Topic: topic, Partitions: []int{0}, Timeout: time.Second})
		if err == nil {
			err = found.PartitionResults[0].Error
		}
		return nil, err
	})
	s.step("reassign", func() (any, error) {
		found, err := client.AlterPartitionReassignments(ctx, &kafka.AlterPartitionReassignmentsRequest{
			Topic:       topic,
			Assignments: []kafka.AlterPartitionReassignmentsRequestAssignment{{PartitionID: 0, BrokerIDs: []int{1}}},
			Timeout:     time.Second,
		})
		if err == nil {
			err = found.PartitionResults[0].Error
		}
		return nil, err
	})
	s.step("reassignments", func() (any, error) {
		found, err := client.ListPartitionReassignments(ctx, &kafka.ListPartitionReassignmentsRequest{
			Topics: map[string]kafka.ListPartitionReassignmentsRequestTopic{topic: {PartitionIndexes: []int{0}}},
		})
		return len(found.Topics), err
	})
	s.step("offsets", func() (any, error) {
		found, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{
			Topics: map[string][]kafka.OffsetRequest{topic: {kafka.FirstOffsetOf(0), kafka.LastOffsetOf(0)}},
		})
		if err != nil {
			return nil, err
		}
		return []int64{found.Topics[topic][0].FirstOffset, found.Topics[topic][0].LastOffset}, nil
	})
	s.step("groups", func() (any, error) {
		found, err := client.ListGroups(ctx, &kafka.ListGroupsRequest{})
		return len(found.Groups), err
	})
	s.step("delete", func() (any, error) {
		found, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
		if err == nil {
			err = found.Errors[topic]
		}
		return nil, err
	})
}
