import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;
import org.apache.kafka.common.Endpoint;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.server.authorizer.AclCreateResult;
import org.apache.kafka.server.authorizer.AclDeleteResult;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;
import org.apache.kafka.server.authorizer.Authorizer;
import org.apache.kafka.server.authorizer.AuthorizerServerInfo;

/**
 * A custom authorizer: `lab.authorizer.allowed` in server.properties lists the principals that may do everything. Those
 * in `lab.authorizer.described` may only describe. Like other custom authorizers, it has no ACLs that Kafka could list
 * or change.
 */
public final class ListedAuthorizer implements Authorizer {
    private static final Set<String> DESCRIBING = Set.of("DESCRIBE", "DESCRIBE_CONFIGS");
    private Set<String> allowed = Set.of();
    private Set<String> described = Set.of();

    @Override
    public void configure(Map<String, ?> configs) {
        allowed = listed(configs.get("lab.authorizer.allowed"));
        described = listed(configs.get("lab.authorizer.described"));
    }

    private static Set<String> listed(Object names) {
        return names == null ? Set.of() : Arrays.stream(names.toString().split(";")).collect(Collectors.toSet());
    }

    @Override
    public Map<Endpoint, ? extends CompletionStage<Void>> start(AuthorizerServerInfo info) {
        Map<Endpoint, CompletionStage<Void>> ready = new HashMap<>();
        info.endpoints().forEach(each -> ready.put(each, CompletableFuture.completedFuture(null)));
        return ready;
    }

    @Override
    public List<AuthorizationResult> authorize(AuthorizableRequestContext context, List<Action> actions) {
        String principal = context.principal().toString();
        List<AuthorizationResult> results = new ArrayList<>();
        for (Action each : actions) {
            boolean may = allowed.contains(principal)
                || described.contains(principal) && DESCRIBING.contains(each.operation().name());
            results.add(may ? AuthorizationResult.ALLOWED : AuthorizationResult.DENIED);
        }
        return results;
    }

    @Override
    public List<? extends CompletionStage<AclCreateResult>> createAcls(
            AuthorizableRequestContext context, List<AclBinding> bindings) {
        throw new UnsupportedOperationException("no ACLs here");
    }

    @Override
    public List<? extends CompletionStage<AclDeleteResult>> deleteAcls(
            AuthorizableRequestContext context, List<AclBindingFilter> filters) {
        throw new UnsupportedOperationException("no ACLs here");
    }

    @Override
    public Iterable<AclBinding> acls(AclBindingFilter filter) {
        throw new UnsupportedOperationException("no ACLs here");
    }

    @Override
    public void close() {
    }
}
