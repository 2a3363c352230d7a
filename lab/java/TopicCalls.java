import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreatePartitionsOptions;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.CreateTopicsResult;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsResult;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Topics, partitions and the cluster. A topic requested by ID is returned by ID. */
final class TopicCalls {
    static void addTo(Map<String, AdminProbe.Call> calls) {
        calls.put("createTopics", TopicCalls::createTopics);
        calls.put("deleteTopics", TopicCalls::deleteTopics);
        calls.put("createPartitions", TopicCalls::createPartitions);
        calls.put("listTopics", TopicCalls::listTopics);
        calls.put("describeTopics", TopicCalls::describeTopics);
        calls.put("describeCluster", TopicCalls::describeCluster);
    }

    private static Object createTopics(Admin admin, JsonNode args) {
        List<NewTopic> topics = new ArrayList<>();
        args.get("topics").forEach(each -> topics.add(newTopic(each)));
        CreateTopicsOptions options = new CreateTopicsOptions().validateOnly(AdminProbe.flag(args, "validateOnly"));
        CreateTopicsResult result = admin.createTopics(topics, options);
        Map<String, Object> answer = new TreeMap<>();
        result.values().forEach((name, future) -> answer.put(name, AdminProbe.outcome(future, done -> AdminProbe.map(
            "topicId", AdminProbe.outcome(result.topicId(name), Uuid::toString),
            "numPartitions", AdminProbe.outcome(result.numPartitions(name), count -> count),
            "replicationFactor", AdminProbe.outcome(result.replicationFactor(name), factor -> factor),
            "config", AdminProbe.outcome(result.config(name), ConfigCalls::entries)))));
        return answer;
    }

    private static NewTopic newTopic(JsonNode topic) {
        NewTopic answer;
        if (topic.hasNonNull("assignments")) {
            Map<Integer, List<Integer>> assignments = new TreeMap<>();
            JsonNode given = topic.get("assignments");
            given.fieldNames().forEachRemaining(
                partition -> assignments.put(Integer.valueOf(partition), AdminProbe.integers(given.get(partition))));
            answer = new NewTopic(topic.get("name").asText(), assignments);
        } else {
            // Absent means the broker's default.
            Optional<Integer> partitions = Optional.ofNullable(topic.get("partitions")).map(JsonNode::asInt);
            Optional<Short> factor =
                Optional.ofNullable(topic.get("replicationFactor")).map(each -> (short) each.asInt());
            answer = new NewTopic(topic.get("name").asText(), partitions, factor);
        }
        return topic.hasNonNull("configs") ? answer.configs(AdminProbe.strings(topic.get("configs"))) : answer;
    }

    private static Object deleteTopics(Admin admin, JsonNode args) {
        if (args.has("topicIds")) {
            return AdminProbe.outcomes(admin.deleteTopics(byId(args)).topicIdValues(), Uuid::toString);
        }
        List<String> names = AdminProbe.texts(args.get("topics"));
        return AdminProbe.outcomes(admin.deleteTopics(names).topicNameValues(), name -> name);
    }

    private static Object createPartitions(Admin admin, JsonNode args) {
        Map<String, NewPartitions> wanted = new TreeMap<>();
        JsonNode topics = args.get("topics");
        topics.fieldNames().forEachRemaining(name -> {
            JsonNode topic = topics.get(name);
            List<List<Integer>> assignments = new ArrayList<>();
            topic.path("assignments").forEach(each -> assignments.add(AdminProbe.integers(each)));
            wanted.put(name, NewPartitions.increaseTo(
                topic.get("count").asInt(), topic.hasNonNull("assignments") ? assignments : null));
        });
        CreatePartitionsOptions options =
            new CreatePartitionsOptions().validateOnly(AdminProbe.flag(args, "validateOnly"));
        return AdminProbe.outcomes(admin.createPartitions(wanted, options).values(), name -> name);
    }

    private static Object listTopics(Admin admin, JsonNode args) throws Exception {
        Map<String, Object> answer = new TreeMap<>();
        ListTopicsOptions options = new ListTopicsOptions().listInternal(AdminProbe.flag(args, "internal"));
        admin.listTopics(options).listings().get().forEach(each -> answer.put(
            each.name(), AdminProbe.map("topicId", each.topicId().toString(), "internal", each.isInternal())));
        return answer;
    }

    private static Object describeTopics(Admin admin, JsonNode args) {
        DescribeTopicsOptions options = new DescribeTopicsOptions()
            .includeAuthorizedOperations(AdminProbe.flag(args, "authorizedOperations"));
        Map<String, Object> answer = new TreeMap<>();
        if (args.has("topicIds")) {
            DescribeTopicsResult result = admin.describeTopics(byId(args), options);
            result.topicIdValues().forEach((id, future) -> answer.put(id.toString(), description(future)));
        } else {
            DescribeTopicsResult result = admin.describeTopics(AdminProbe.texts(args.get("topics")), options);
            result.topicNameValues().forEach((name, future) -> answer.put(name, description(future)));
        }
        return answer;
    }

    private static Object description(KafkaFuture<TopicDescription> future) {
        return AdminProbe.outcome(future, topic -> AdminProbe.map(
            "name", topic.name(),
            "topicId", topic.topicId().toString(),
            "internal", topic.isInternal(),
            "partitions", topic.partitions().stream().map(TopicCalls::partition).collect(Collectors.toList()),
            "authorizedOperations", operations(topic.authorizedOperations())));
    }

    private static Object partition(TopicPartitionInfo each) {
        return AdminProbe.map(
            "partition", each.partition(),
            "leader", each.leader() == null ? null : each.leader().id(),
            "replicas", ids(each.replicas()),
            "isr", ids(each.isr()),
            "elr", each.elr() == null ? null : ids(each.elr()),
            "lastKnownElr", each.lastKnownElr() == null ? null : ids(each.lastKnownElr()));
    }

    private static Object describeCluster(Admin admin, JsonNode args) throws Exception {
        DescribeClusterOptions options = new DescribeClusterOptions()
            .includeAuthorizedOperations(AdminProbe.flag(args, "authorizedOperations"));
        if (AdminProbe.flag(args, "fenced")) {
            // KIP-1073: since 4.0.
            options.getClass().getMethod("includeFencedBrokers", boolean.class).invoke(options, true);
        }
        DescribeClusterResult result = admin.describeCluster(options);
        return AdminProbe.map(
            "clusterId", result.clusterId().get(),
            "controller", node(result.controller().get()),
            "nodes", result.nodes().get().stream().map(TopicCalls::node).collect(Collectors.toList()),
            "authorizedOperations", operations(result.authorizedOperations().get()));
    }

    private static Object node(Node node) {
        return node == null ? null
            : AdminProbe.map("id", node.id(), "host", node.host(), "port", node.port(), "rack", node.rack());
    }

    private static List<Integer> ids(Collection<Node> nodes) {
        return nodes.stream().map(Node::id).collect(Collectors.toList());
    }

    private static List<String> operations(Collection<AclOperation> operations) {
        return operations == null ? null : operations.stream().map(Enum::name).sorted().collect(Collectors.toList());
    }

    private static TopicCollection.TopicIdCollection byId(JsonNode args) {
        return TopicCollection.ofTopicIds(
            AdminProbe.texts(args.get("topicIds")).stream().map(Uuid::fromString).collect(Collectors.toList()));
    }
}
