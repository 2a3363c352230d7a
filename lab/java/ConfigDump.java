import org.apache.kafka.common.config.ConfigDef;

import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Prints what a release defines about its config keys, as one JSON object: per resource type the keys with type,
 * default, validator, importance and whether they are internal; how broker keys are updated; which broker keys a topic
 * key falls back on; the metadata versions; and the names in TopicConfig. Classes moved between releases, so
 * each is looked up under all its names; what the class path does not have is missing in the output. `lab/catalog.py`
 * reads it.
 */
public final class ConfigDump {
    private static final String[] BROKER = {
        "org.apache.kafka.server.config.AbstractKafkaConfig#CONFIG_DEF", "kafka.server.KafkaConfig#configDef"};
    private static final String[] TOPIC = {"org.apache.kafka.storage.internals.log.LogConfig#configDefCopy"};
    private static final String[] GROUP = {
        "org.apache.kafka.coordinator.group.GroupConfig#CONFIG_DEF",
        "org.apache.kafka.coordinator.group.GroupConfig#configDef",
        "org.apache.kafka.coordinator.group.GroupConfig#CONFIG"};
    private static final String[] CLIENT_METRICS = {
        "org.apache.kafka.server.metrics.ClientMetricsConfigs#configDef",
        "org.apache.kafka.server.metrics.ClientMetricsConfigs#CONFIG"};
    private static final String[] MODES = {
        "org.apache.kafka.server.config.DynamicBrokerConfig#dynamicConfigUpdateModes",
        "kafka.server.DynamicBrokerConfig$#dynamicConfigUpdateModes"};
    private static final String[] SYNONYMS = {
        "org.apache.kafka.server.config.ServerTopicConfigSynonyms#ALL_TOPIC_CONFIG_SYNONYMS"};
    // The parts of the broker's definition in jars that are published before the broker's own.
    private static final String[] BROKER_PARTS = {
        "org.apache.kafka.server.config.ServerConfigs#CONFIG_DEF",
        "org.apache.kafka.server.config.DelegationTokenManagerConfigs#CONFIG_DEF",
        "org.apache.kafka.server.config.QuotaConfig#CONFIG_DEF",
        "org.apache.kafka.common.config.internals.BrokerSecurityConfigs#CONFIG_DEF"};

    public static void main(String[] ignored) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("topic", keys(find(TOPIC)));
        all.put("broker", keys(find(BROKER)));
        all.put("group", keys(find(GROUP)));
        all.put("client_metrics", keys(find(CLIENT_METRICS)));
        all.put("modes", find(MODES));
        all.put("topic_synonyms", synonyms((Map<?, ?>) find(SYNONYMS)));
        Map<String, Object> parts = new TreeMap<>();
        for (String each : BROKER_PARTS) {
            Map<String, Object> part = keys(find(each));
            if (part != null) {
                parts.putAll(part);
            }
        }
        all.put("broker_parts", parts);
        all.put("topic_names", topicNames());
        all.put("metadata_versions", metadataVersions());
        out.println(json(all));
    }

    /** The first of `places` (class#member) that this release has: a field, or a method without arguments. */
    private static Object find(String... places) throws Exception {
        for (String place : places) {
            String[] parts = place.split("#");
            Class<?> holder;
            try {
                holder = Class.forName(parts[0]);
            } catch (ClassNotFoundException e) {
                continue;
            }
            for (Method method : holder.getDeclaredMethods()) {
                if (method.getName().equals(parts[1]) && method.getParameterCount() == 0) {
                    method.setAccessible(true);
                    return method.invoke(instance(holder));
                }
            }
            for (Field field : holder.getDeclaredFields()) {
                if (field.getName().equals(parts[1])) {
                    field.setAccessible(true);
                    return field.get(null);
                }
            }
        }
        return null;
    }

    /** The one instance of a Scala object; null of a Java class, whose members are static. */
    private static Object instance(Class<?> holder) throws Exception {
        return holder.getName().endsWith("$") ? holder.getField("MODULE$").get(null) : null;
    }

    private static Map<String, Object> keys(Object found) {
        if (found == null) {
            return null;
        }
        Map<String, Object> keys = new TreeMap<>();
        for (ConfigDef.ConfigKey key : ((ConfigDef) found).configKeys().values()) {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("type", key.type == null ? null : key.type.name());
            one.put("has_default", key.hasDefault());
            one.put("default", key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null);
            one.put("valid", key.validator == null ? null : key.validator.toString());
            one.put("importance", key.importance == null ? null : key.importance.name());
            one.put("internal", key.internalConfig);
            one.put("doc", key.documentation);
            keys.put(key.name, one);
        }
        return keys;
    }

    /** The broker keys that each topic key falls back on, in order. */
    private static Map<String, Object> synonyms(Map<?, ?> found) throws Exception {
        Map<String, Object> names = new TreeMap<>();
        for (Map.Entry<?, ?> each : found.entrySet()) {
            List<Object> brokers = new ArrayList<>();
            for (Object synonym : (Collection<?>) each.getValue()) {
                brokers.add(synonym.getClass().getMethod("name").invoke(synonym));
            }
            names.put((String) each.getKey(), brokers);
        }
        return names;
    }

    private static List<String> topicNames() throws Exception {
        List<String> names = new ArrayList<>();
        for (Field field : Class.forName("org.apache.kafka.common.config.TopicConfig").getFields()) {
            if (field.getName().endsWith("_CONFIG")) {
                names.add((String) field.get(null));
            }
        }
        return names;
    }

    private static Map<String, Object> metadataVersions() throws Exception {
        Class<?> versions;
        try {
            versions = Class.forName("org.apache.kafka.server.common.MetadataVersion");
        } catch (ClassNotFoundException e) {
            return null;
        }
        Map<String, Object> found = new LinkedHashMap<>();
        for (Object each : versions.getEnumConstants()) {
            found.put(each.toString(), versions.getMethod("featureLevel").invoke(each));
        }
        found.put("latest", versions.getMethod("latestProduction").invoke(null).toString());
        return found;
    }

    private static String json(Object value) {
        if (value == null || value instanceof Boolean || value instanceof Number) {
            return String.valueOf(value);
        }
        List<String> parts = new ArrayList<>();
        if (value instanceof Map) {
            ((Map<?, ?>) value).forEach((name, each) -> parts.add(quoted(String.valueOf(name)) + ":" + json(each)));
            return "{" + String.join(",", parts) + "}";
        }
        if (value instanceof Collection) {
            ((Collection<?>) value).forEach(each -> parts.add(json(each)));
            return "[" + String.join(",", parts) + "]";
        }
        return quoted(String.valueOf(value));
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\') {
                out.append('\\').append(each);
            } else if (each < ' ') {
                out.append(String.format("\\u%04x", (int) each));
            } else {
                out.append(each);
            }
        }
        return out.append('"').toString();
    }
}
