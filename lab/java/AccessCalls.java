import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterClientQuotasOptions;
import org.apache.kafka.clients.admin.DeleteAclsResult;
import org.apache.kafka.clients.admin.DescribeUserScramCredentialsResult;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialAlteration;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Quotas, SCRAM credentials and ACLs. */
final class AccessCalls {
    static void addTo(Map<String, AdminProbe.Call> calls) {
        calls.put("describeClientQuotas", AccessCalls::describeClientQuotas);
        calls.put("alterClientQuotas", AccessCalls::alterClientQuotas);
        calls.put("describeUserScramCredentials", AccessCalls::describeUserScramCredentials);
        calls.put("alterUserScramCredentials", AccessCalls::alterUserScramCredentials);
        calls.put("describeAcls", AccessCalls::describeAcls);
        calls.put("createAcls", AccessCalls::createAcls);
        calls.put("deleteAcls", AccessCalls::deleteAcls);
    }

    private static Object describeClientQuotas(Admin admin, JsonNode args) throws Exception {
        List<ClientQuotaFilterComponent> components = new ArrayList<>();
        args.path("components").forEach(each -> components.add(component(each)));
        ClientQuotaFilter filter = AdminProbe.flag(args, "strict")
            ? ClientQuotaFilter.containsOnly(components) : ClientQuotaFilter.contains(components);
        // Keyed by the entity's text to have a fixed order.
        Map<String, Object> answer = new TreeMap<>();
        admin.describeClientQuotas(filter).entities().get().forEach((entity, quotas) -> answer.put(
            new TreeMap<>(entity.entries()).toString(),
            AdminProbe.map("entity", new TreeMap<>(entity.entries()), "quotas", new TreeMap<>(quotas))));
        return answer.values();
    }

    private static ClientQuotaFilterComponent component(JsonNode node) {
        String type = node.get("type").asText();
        switch (node.path("match").asText("name")) {
            case "default":
                return ClientQuotaFilterComponent.ofDefaultEntity(type);
            case "any":
                return ClientQuotaFilterComponent.ofEntityType(type);
            default:
                return ClientQuotaFilterComponent.ofEntity(type, node.get("name").asText());
        }
    }

    private static Object alterClientQuotas(Admin admin, JsonNode args) {
        List<ClientQuotaAlteration> alterations = new ArrayList<>();
        args.get("entries").forEach(entry -> {
            List<ClientQuotaAlteration.Op> ops = new ArrayList<>();
            entry.get("ops").forEach(op -> ops.add(new ClientQuotaAlteration.Op(
                op.get("key").asText(), op.hasNonNull("value") ? op.get("value").asDouble() : null)));
            alterations.add(new ClientQuotaAlteration(
                new ClientQuotaEntity(AdminProbe.strings(entry.get("entity"))), ops));
        });
        AlterClientQuotasOptions options =
            new AlterClientQuotasOptions().validateOnly(AdminProbe.flag(args, "validateOnly"));
        List<Object> answer = new ArrayList<>();
        admin.alterClientQuotas(alterations, options).values().forEach((entity, future) -> answer.add(AdminProbe.map(
            "entity", new TreeMap<>(entity.entries()), "outcome", AdminProbe.outcome(future))));
        return answer;
    }

    private static Object describeUserScramCredentials(Admin admin, JsonNode args) throws Exception {
        boolean some = args.hasNonNull("users");
        DescribeUserScramCredentialsResult result = some
            ? admin.describeUserScramCredentials(AdminProbe.texts(args.get("users")))
            : admin.describeUserScramCredentials();
        List<String> users = some ? AdminProbe.texts(args.get("users")) : result.users().get();
        Map<String, Object> answer = new TreeMap<>();
        users.forEach(user -> answer.put(user, AdminProbe.outcome(result.description(user), found -> AdminProbe.map(
            "credentials", found.credentialInfos().stream().map(each -> AdminProbe.map(
                "mechanism", each.mechanism().name(), "iterations", each.iterations()))
                .collect(Collectors.toList())))));
        return answer;
    }

    private static Object alterUserScramCredentials(Admin admin, JsonNode args) {
        List<UserScramCredentialAlteration> alterations = new ArrayList<>();
        args.get("alterations").forEach(each -> alterations.add(alteration(each)));
        return AdminProbe.outcomes(admin.alterUserScramCredentials(alterations).values(), user -> user);
    }

    private static UserScramCredentialAlteration alteration(JsonNode node) {
        String user = node.get("user").asText();
        ScramMechanism mechanism = ScramMechanism.valueOf(node.get("mechanism").asText());
        if (AdminProbe.flag(node, "delete")) {
            return new UserScramCredentialDeletion(user, mechanism);
        }
        ScramCredentialInfo info = new ScramCredentialInfo(mechanism, node.path("iterations").asInt(4096));
        byte[] password = node.get("password").asText().getBytes(StandardCharsets.UTF_8);
        if (!node.hasNonNull("salt")) {
            return new UserScramCredentialUpsertion(user, info, password);
        }
        byte[] salt = Base64.getDecoder().decode(node.get("salt").asText());
        return new UserScramCredentialUpsertion(user, info, password, salt);
    }

    private static Object describeAcls(Admin admin, JsonNode args) throws Exception {
        return acls(admin.describeAcls(filter(args.path("filter"))).values().get());
    }

    private static Object createAcls(Admin admin, JsonNode args) {
        List<AclBinding> bindings = new ArrayList<>();
        args.get("acls").forEach(each -> bindings.add(new AclBinding(
            new ResourcePattern(
                ResourceType.valueOf(each.get("resourceType").asText()), each.get("resourceName").asText(),
                PatternType.valueOf(each.path("patternType").asText("LITERAL"))),
            new AccessControlEntry(
                each.get("principal").asText(), each.path("host").asText("*"),
                AclOperation.valueOf(each.get("operation").asText()),
                AclPermissionType.valueOf(each.path("permissionType").asText("ALLOW"))))));
        List<Object> answer = new ArrayList<>();
        admin.createAcls(bindings).values().forEach((binding, future) -> answer.add(AdminProbe.map(
            "acl", acl(binding), "outcome", AdminProbe.outcome(future))));
        return answer;
    }

    /** One result for each filter, in the order of the filters. */
    private static Object deleteAcls(Admin admin, JsonNode args) {
        Map<AclBindingFilter, Object> answer = new LinkedHashMap<>();
        args.get("filters").forEach(each -> answer.put(filter(each), null));
        DeleteAclsResult result = admin.deleteAcls(answer.keySet());
        answer.replaceAll((filter, none) -> AdminProbe.outcome(result.values().get(filter), deleted -> AdminProbe.map(
            "deleted", deleted.values().stream().map(each -> each.exception() == null
                ? acl(each.binding()) : AdminProbe.error(each.exception())).collect(Collectors.toList()))));
        return answer.values();
    }

    /** A filter; a missing field matches anything. */
    private static AclBindingFilter filter(JsonNode node) {
        return new AclBindingFilter(
            new ResourcePatternFilter(
                ResourceType.valueOf(node.path("resourceType").asText("ANY")), AdminProbe.text(node, "resourceName"),
                PatternType.valueOf(node.path("patternType").asText("ANY"))),
            new AccessControlEntryFilter(
                AdminProbe.text(node, "principal"), AdminProbe.text(node, "host"),
                AclOperation.valueOf(node.path("operation").asText("ANY")),
                AclPermissionType.valueOf(node.path("permissionType").asText("ANY"))));
    }

    private static List<Map<String, Object>> acls(Collection<AclBinding> bindings) {
        return bindings.stream().map(AccessCalls::acl).sorted(Comparator.comparing(Map::toString))
            .collect(Collectors.toList());
    }

    private static Map<String, Object> acl(AclBinding binding) {
        return AdminProbe.map(
            "resourceType", binding.pattern().resourceType().name(),
            "resourceName", binding.pattern().name(),
            "patternType", binding.pattern().patternType().name(),
            "principal", binding.entry().principal(),
            "host", binding.entry().host(),
            "operation", binding.entry().operation().name(),
            "permissionType", binding.entry().permissionType().name());
    }
}
