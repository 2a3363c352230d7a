import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.config.ConfigResource;

/**
 * The same steps with the Admin of any release, from 1.1 on, on each of the given servers.
 *
 * Compiled once, with the oldest release; what later releases added or renamed is called by its name. A line has the
 * server, the step and its outcome. A step that this release does not have has no line.
 */
public final class AdminSteps {
    private static final String SERVER = "SERVER";
    private final AdminClient admin;
    private final int number;
    private final String address;
    private final String topic;

    private AdminSteps(int number, String address, String topic) {
        this.number = number;
        this.address = address;
        this.topic = topic;
        Properties properties = new Properties();
        properties.put("bootstrap.servers", address);
        properties.put("request.timeout.ms", "20000");
        properties.put("default.api.timeout.ms", "40000");
        String file = System.getProperty("steps.properties");
        if (file != null) {
            try (InputStream login = Files.newInputStream(Paths.get(file))) {
                properties.load(login);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }
        this.admin = AdminClient.create(properties);
    }

    public static void main(String[] args) throws Exception {
        String topic = args[0];
        for (int number = 1; number < args.length; number++) {
            AdminSteps steps = new AdminSteps(number, args[number], topic);
            steps.run();
            steps.admin.close();
        }
    }

    private void run() throws Exception {
        step("cluster", () -> nodes(get(admin.describeCluster().nodes())));
        step("controller", () -> get(admin.describeCluster().controller()).id());
        step("validate", () -> get(admin.createTopics(newTopics(), new CreateTopicsOptions().validateOnly(true)).all()));
        step("not created", () -> get(admin.listTopics().names()).contains(topic));
        step("create", () -> get(admin.createTopics(newTopics()).all()));
        until("created", () -> get(admin.listTopics().names()).contains(topic), true);
        step("create again", () -> get(admin.createTopics(newTopics()).all()));
        step("create badly", () -> get(admin.createTopics(
                Collections.singleton(new NewTopic(topic + "-b", 1, (short) 1)
                        .configs(Collections.singletonMap("retention.ms", "x")))).all()));
        step("describe", () -> topicText());
        step("describe nothing", () -> describe(topic + "-none"));
        step("alter", () -> alter("retention.ms", "2000"));
        until("altered", () -> configs(topicResource(), "retention.ms", "cleanup.policy"), null);
        step("alter badly", () -> alter("retention.ms", "x"));
        step("grow", () -> get(admin.createPartitions(
                Collections.singletonMap(topic, NewPartitions.increaseTo(3))).all()));
        until("grown", this::topicText, null);
        step("shrink", () -> get(admin.createPartitions(
                Collections.singletonMap(topic, NewPartitions.increaseTo(1))).all()));
        step("broker", () -> configs(new ConfigResource(ConfigResource.Type.BROKER, "1"),
                "listeners", "advertised.listeners", "num.io.threads", "ssl.keystore.password"));
        step("acls", () -> get(admin.describeAcls(AclBindingFilter.ANY).values()).size());
        step("delete records", () -> get(admin.deleteRecords(Collections.singletonMap(
                new TopicPartition(topic, 0), RecordsToDelete.beforeOffset(0))).all()));
        step("log dirs", () -> get((KafkaFuture<?>) any(
                call(admin, "describeLogDirs", Collection.class, Collections.singleton(1)), "allDescriptions", "all"))
                != null);
        groups();
        later();
        step("delete", () -> get(admin.deleteTopics(Collections.singleton(topic)).all()));
        until("deleted", () -> get(admin.listTopics().names()).contains(topic), false);
        step("delete again", () -> get(admin.deleteTopics(Collections.singleton(topic)).all()));
    }

    /** From 2.0 on. */
    private void groups() throws Exception {
        step("groups", () -> get(any(call(admin, "listConsumerGroups"), "all")));
        step("group", () -> get(any(
                call(admin, "describeConsumerGroups", Collection.class, Collections.singleton("none")), "all")));
        step("group offsets", () -> get(any(
                call(admin, "listConsumerGroupOffsets", String.class, "none"), "partitionsToOffsetAndMetadata")));
        step("delete group", () -> get(any(
                call(admin, "deleteConsumerGroups", Collection.class, Collections.singleton("none")), "all")));
    }

    /** From 2.4, 2.5 and 3.0 on. */
    private void later() throws Exception {
        TopicPartition first = new TopicPartition(topic, 0);
        step("reassignments", () -> get(any(call(admin, "listPartitionReassignments"), "reassignments")));
        step("reassign", () -> get(any(call(admin, "alterPartitionReassignments", Map.class,
                Collections.singletonMap(first, reassignment(1))), "all")));
        step("reassign to nothing", () -> get(any(call(admin, "alterPartitionReassignments", Map.class,
                Collections.singletonMap(first, reassignment(7))), "all")));
        step("elect", () -> election(first));
        for (String spec : Arrays.asList("latest", "earliest", "maxTimestamp")) {
            step("offset " + spec, () -> offset(first, spec));
        }
        step("producers", () -> text(get(any(
                call(admin, "describeProducers", Collection.class, Collections.singleton(first)), "all"))));
        step("transactions", () -> get(any(call(admin, "listTransactions"), "all")));
        step("transaction", () -> get(any(
                call(admin, "describeTransactions", Collection.class, Collections.singleton("none")), "all")));
        step("scram users", () -> get(any(call(admin, "describeUserScramCredentials"), "all")));
        step("tokens", () -> get(any(call(admin, "describeDelegationToken"), "delegationTokens")));
    }

    private Collection<NewTopic> newTopics() {
        return Collections.singleton(
                new NewTopic(topic, 2, (short) 1).configs(Collections.singletonMap("retention.ms", "1000")));
    }

    private ConfigResource topicResource() {
        return new ConfigResource(ConfigResource.Type.TOPIC, topic);
    }

    private Object describe(String name) throws Exception {
        return get(any(call(admin, "describeTopics", Collection.class, Collections.singleton(name)),
                "allTopicNames", "all"));
    }

    private String topicText() throws Exception {
        List<String> lines = new ArrayList<>();
        for (TopicPartitionInfo each : ((Map<?, TopicDescription>) describe(topic)).get(topic).partitions()) {
            lines.add(each.partition() + " " + each.leader().id() + nodes(each.replicas()) + nodes(each.isr()));
        }
        return lines.toString();
    }

    private Object alter(String key, String value) throws Exception {
        ConfigEntry entry = new ConfigEntry(key, value);
        try {
            Class<?> op = Class.forName("org.apache.kafka.clients.admin.AlterConfigOp");
            Class<?> type = Class.forName("org.apache.kafka.clients.admin.AlterConfigOp$OpType");
            Object set = type.getField("SET").get(null);
            Object wanted = op.getConstructor(ConfigEntry.class, type).newInstance(entry, set);
            return get(any(call(admin, "incrementalAlterConfigs", Map.class,
                    Collections.singletonMap(topicResource(), Collections.singleton(wanted))), "all"));
        } catch (ClassNotFoundException before23) {
            return get(any(call(admin, "alterConfigs", Map.class, Collections.singletonMap(topicResource(),
                    new Config(Collections.singleton(entry)))), "all"));
        }
    }

    private String configs(ConfigResource resource, String... keys) throws Exception {
        Config found = get(admin.describeConfigs(Collections.singleton(resource)).all()).get(resource);
        List<String> lines = new ArrayList<>();
        for (String key : keys) {
            ConfigEntry each = found.get(key);
            lines.add(key + "=" + each.value() + " " + each.source() + (each.isSensitive() ? " sensitive" : "")
                    + (each.isReadOnly() ? " read-only" : ""));
        }
        return lines.toString();
    }

    private static Object reassignment(int broker) throws Exception {
        Class<?> type = Class.forName("org.apache.kafka.clients.admin.NewPartitionReassignment");
        return java.util.Optional.of(type.getConstructor(List.class).newInstance(Collections.singletonList(broker)));
    }

    private Object election(TopicPartition partition) throws Exception {
        Class<?> type = Class.forName("org.apache.kafka.common.ElectionType");
        Method method = AdminClient.class.getMethod("electLeaders", type, java.util.Set.class);
        Object preferred = type.getField("PREFERRED").get(null);
        Object made = method.invoke(admin, preferred, Collections.singleton(partition));
        Map<?, ?> found = (Map<?, ?>) get(any(made, "partitions"));
        java.util.Optional<?> error = (java.util.Optional<?>) found.get(partition);
        return error.isPresent() ? error.get().getClass().getSimpleName() : "elected";
    }

    private Object offset(TopicPartition partition, String name) throws Exception {
        Class<?> type = Class.forName("org.apache.kafka.clients.admin.OffsetSpec");
        Object spec = type.getMethod(name).invoke(null);
        Object result = call(admin, "listOffsets", Map.class, Collections.singletonMap(partition, spec));
        Object info = get((KafkaFuture<?>) call(result, "partitionResult", TopicPartition.class, partition));
        return call(info, "offset") + " " + call(info, "timestamp") + " " + call(info, "leaderEpoch");
    }

    private static String nodes(Collection<Node> nodes) {
        List<Integer> ids = new ArrayList<>();
        for (Node each : nodes) {
            ids.add(each.id());
        }
        return ids.toString();
    }

    private static String text(Object map) {
        Map<String, String> sorted = new TreeMap<>();
        for (Map.Entry<?, ?> each : ((Map<?, ?>) map).entrySet()) {
            sorted.put(each.getKey().toString(), each.getValue().getClass().getSimpleName());
        }
        return sorted.toString();
    }

    /** The first of these methods that the result has. */
    private static KafkaFuture<?> any(Object result, String... names) throws Exception {
        for (String name : names) {
            try {
                return (KafkaFuture<?>) result.getClass().getMethod(name).invoke(result);
            } catch (NoSuchMethodException other) {
                continue;
            }
        }
        throw new NoSuchMethodException(Arrays.toString(names));
    }

    private static Object call(Object target, String name) throws Exception {
        Method method = target.getClass().getMethod(name);
        method.setAccessible(true);
        return method.invoke(target);
    }

    private static Object call(Object target, String name, Class<?> type, Object argument) throws Exception {
        Class<?> from = target instanceof AdminClient ? AdminClient.class : target.getClass();
        return from.getMethod(name, type).invoke(target, argument);
    }

    private static <T> T get(KafkaFuture<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    private void step(String name, Callable<?> action) {
        String outcome = outcome(action);
        if (outcome != null) {
            System.out.println(number + "|" + name + "|" + outcome.replace(address, SERVER).replace(topic, "TOPIC"));
        }
    }

    /** Until it is as wanted, or, with null, says the same ten times: a real broker is told by its controller. */
    private void until(String name, Callable<?> action, Object wanted) throws InterruptedException {
        String last = null;
        int same = 0;
        for (int turn = 0; turn < 200 && same < 10; turn++) {
            String now = outcome(action);
            same = wanted == null ? (now != null && now.equals(last) ? same + 1 : 0)
                    : (String.valueOf(wanted).equals(now) ? 10 : 0);
            last = now;
            Thread.sleep(20);
        }
        step(name, action);
    }

    private static String outcome(Callable<?> action) {
        try {
            return String.valueOf(action.call());
        } catch (NoSuchMethodException | ClassNotFoundException absent) {
            return null;
        } catch (InvocationTargetException wrapped) {
            return wrapped.getCause().getClass().getSimpleName();
        } catch (ExecutionException failed) {
            return failed.getCause().getClass().getSimpleName();
        } catch (Exception other) {
            return other.getClass().getSimpleName();
        }
    }
}
