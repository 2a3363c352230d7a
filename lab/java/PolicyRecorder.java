import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.AlterConfigPolicy;
import org.apache.kafka.server.policy.CreateTopicPolicy;

/**
 * Kafka's two policies: they record their calls, and follow instructions in resource names, exactly like
 * tests/policies/recorder.py for kconf. `lab.policy.file` in server.properties is the file to write.
 */
public final class PolicyRecorder {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String REFUSED_VALUE = "1234567";

    public static final class Alter implements AlterConfigPolicy {
        private Path file;

        @Override
        public void configure(Map<String, ?> configs) {
            file = Path.of((String) configs.get("lab.policy.file"));
        }

        @Override
        public void validate(RequestMetadata request) {
            Map<String, Object> line = new LinkedHashMap<>();
            line.put("kind", "alter");
            line.put("resource", shown(request.resource()));
            line.put("changed", request.configs());
            write(file, line);
            act("alter", request.resource().name(), request.configs());
        }

        @Override
        public void close() {
        }
    }

    public static final class Create implements CreateTopicPolicy {
        private Path file;

        @Override
        public void configure(Map<String, ?> configs) {
            file = Path.of((String) configs.get("lab.policy.file"));
        }

        @Override
        public void validate(RequestMetadata request) {
            Map<String, Object> line = new LinkedHashMap<>();
            line.put("kind", "create");
            line.put("resource", "topic:" + request.topic());
            line.put("partitions", request.numPartitions());
            line.put("factor", request.replicationFactor());
            line.put("assignments", request.replicasAssignments());
            line.put("configs", request.configs());
            write(file, line);
            act("create", request.topic(), Map.of());
        }

        @Override
        public void close() {
        }
    }

    private static String shown(ConfigResource resource) {
        String word = resource.type().name().toLowerCase().replace('_', '-');
        if (resource.type() == ConfigResource.Type.BROKER && resource.name().isEmpty()) {
            return "brokers";
        }
        return word + ":" + resource.name();
    }

    private static void act(String kind, String name, Map<String, String> changed) {
        int at = name.indexOf(kind + ".");
        String deed = at < 0 ? "" : name.substring(at + kind.length() + 1);
        if (deed.startsWith("REFUSE") || changed.containsValue(REFUSED_VALUE)) {
            throw new PolicyViolationException("no: " + name);
        }
        if (deed.startsWith("OTHER")) {
            throw new InvalidConfigurationException("not a policy's word");
        }
        if (deed.startsWith("RAISE")) {
            throw new IllegalStateException("broken inside");
        }
    }

    private static synchronized void write(Path file, Map<String, Object> line) {
        try {
            String text = JSON.writeValueAsString(line) + "\n";
            Files.writeString(file, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
