import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.AlterConfigsResult;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.config.ConfigResource;

import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Configs. A resource is {type, name} in a request and the key "TYPE:name" in a response. */
final class ConfigCalls {
    static void addTo(Map<String, AdminProbe.Call> calls) {
        calls.put("describeConfigs", ConfigCalls::describeConfigs);
        calls.put("incrementalAlterConfigs", ConfigCalls::incrementalAlterConfigs);
        calls.put("alterConfigs", ConfigCalls::alterConfigs);
        calls.put("listConfigResources", ConfigCalls::listConfigResources);
    }

    private static Object describeConfigs(Admin admin, JsonNode args) {
        List<ConfigResource> resources = new ArrayList<>();
        args.get("resources").forEach(each -> resources.add(resource(each)));
        DescribeConfigsOptions options = new DescribeConfigsOptions()
            .includeSynonyms(AdminProbe.flag(args, "synonyms"))
            .includeDocumentation(AdminProbe.flag(args, "documentation"));
        Map<String, Object> answer = new TreeMap<>();
        admin.describeConfigs(resources, options).values().forEach((resource, future) -> answer.put(
            name(resource), AdminProbe.outcome(future, config -> AdminProbe.map("entries", entries(config)))));
        return answer;
    }

    /** Configs by key, sorted, because the client has no order. */
    static Map<String, Object> entries(Config config) {
        Map<String, Object> answer = new TreeMap<>();
        config.entries().forEach(each -> answer.put(each.name(), AdminProbe.map(
            "value", each.value(),
            "source", each.source().name(),
            "isDefault", each.isDefault(),
            "isSensitive", each.isSensitive(),
            "isReadOnly", each.isReadOnly(),
            "type", each.type() == null ? null : each.type().name(),
            "documentation", each.documentation(),
            "synonyms", each.synonyms().stream().map(synonym -> AdminProbe.map(
                "name", synonym.name(), "value", synonym.value(), "source", synonym.source().name()))
                .collect(Collectors.toList()))));
        return answer;
    }

    private static Object incrementalAlterConfigs(Admin admin, JsonNode args) {
        Map<ConfigResource, Collection<AlterConfigOp>> alterations = new LinkedHashMap<>();
        args.get("resources").forEach(each -> {
            List<AlterConfigOp> ops = new ArrayList<>();
            each.get("ops").forEach(op -> ops.add(new AlterConfigOp(
                new ConfigEntry(op.get("name").asText(), AdminProbe.text(op, "value")),
                AlterConfigOp.OpType.valueOf(op.get("op").asText()))));
            alterations.put(resource(each), ops);
        });
        AlterConfigsResult result = admin.incrementalAlterConfigs(alterations, alterOptions(args));
        return AdminProbe.outcomes(result.values(), ConfigCalls::name);
    }

    /** The older call that replaces everything: 3.x clients only. */
    private static Object alterConfigs(Admin admin, JsonNode args) throws Exception {
        Map<ConfigResource, Config> alterations = new LinkedHashMap<>();
        args.get("resources").forEach(each -> {
            List<ConfigEntry> entries = new ArrayList<>();
            AdminProbe.strings(each.get("configs")).forEach((key, value) -> entries.add(new ConfigEntry(key, value)));
            alterations.put(resource(each), new Config(entries));
        });
        AlterConfigsResult result = (AlterConfigsResult) Admin.class
            .getMethod("alterConfigs", Map.class, AlterConfigsOptions.class).invoke(admin, alterations, alterOptions(args));
        return AdminProbe.outcomes(result.values(), ConfigCalls::name);
    }

    private static AlterConfigsOptions alterOptions(JsonNode args) {
        return new AlterConfigsOptions().validateOnly(AdminProbe.flag(args, "validateOnly"));
    }

    /** KIP-1142: 4.1 and newer; no types means all types. */
    private static Object listConfigResources(Admin admin, JsonNode args) throws Exception {
        Set<ConfigResource.Type> types = EnumSet.noneOf(ConfigResource.Type.class);
        AdminProbe.texts(args.path("types")).forEach(each -> types.add(ConfigResource.Type.valueOf(each)));
        Class<?> optionsClass = Class.forName("org.apache.kafka.clients.admin.ListConfigResourcesOptions");
        Object result = Admin.class.getMethod("listConfigResources", Set.class, optionsClass)
            .invoke(admin, types, optionsClass.getConstructor().newInstance());
        KafkaFuture<?> all = (KafkaFuture<?>) result.getClass().getMethod("all").invoke(result);
        return ((Collection<?>) all.get()).stream().map(each -> name((ConfigResource) each)).sorted()
            .collect(Collectors.toList());
    }

    private static ConfigResource resource(JsonNode node) {
        return new ConfigResource(ConfigResource.Type.valueOf(node.get("type").asText()), node.path("name").asText(""));
    }

    private static String name(ConfigResource resource) {
        return resource.type() + ":" + resource.name();
    }
}
