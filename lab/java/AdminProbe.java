import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.KafkaFuture;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;

/**
 * Kafka's Java Admin client, controlled by JSON lines: {admin, properties, method, args} in, {result} or
 * {error, message} out. "admin" names a client, which is opened on first use; one JVM can have many. "close" closes it.
 * The error of one resource is in that resource's place, as {error, message}.
 */
public final class AdminProbe {
    /** One method of the client: reads its arguments from JSON, and returns what Jackson can write. */
    interface Call {
        Object on(Admin admin, JsonNode args) throws Exception;
    }

    interface Step<T> {
        Object read(T value) throws Exception;
    }

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Call> CALLS = new HashMap<>();

    static {
        TopicCalls.addTo(CALLS);
        ConfigCalls.addTo(CALLS);
        AccessCalls.addTo(CALLS);
    }

    public static void main(String[] ignored) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        Map<String, Admin> admins = new HashMap<>();
        String line;
        while ((line = questions.readLine()) != null) {
            answers.println(JSON.writeValueAsString(answer(admins, JSON.readTree(line))));
        }
    }

    private static Map<String, Object> answer(Map<String, Admin> admins, JsonNode question) {
        try {
            String name = question.get("admin").asText();
            String method = question.get("method").asText();
            if (method.equals("close")) {
                Admin admin = admins.remove(name);
                if (admin != null) {
                    admin.close(Duration.ZERO);
                }
                return map("result", null);
            }
            Call call = CALLS.get(method);
            if (call == null) {
                throw new UnsupportedOperationException("the probe has no method " + method);
            }
            Admin admin = admins.computeIfAbsent(name, unknown -> open(question.get("properties")));
            return map("result", call.on(admin, question.get("args")));
        } catch (Throwable e) {
            return error(e);
        }
    }

    private static Admin open(JsonNode properties) {
        Properties given = new Properties();
        strings(properties).forEach(given::put);
        return Admin.create(given);
    }

    /** The result of one resource: its value, or its error in the same place. */
    static <T> Object outcome(KafkaFuture<T> future, Step<T> step) {
        try {
            return step.read(future.get());
        } catch (Throwable e) {
            return error(e);
        }
    }

    /** A successful outcome without a value. */
    static Object outcome(KafkaFuture<Void> future) {
        return outcome(future, done -> map());
    }

    static <K> Map<String, Object> outcomes(Map<K, KafkaFuture<Void>> futures, Function<K, String> name) {
        Map<String, Object> answer = new LinkedHashMap<>();
        futures.forEach((key, future) -> answer.put(name.apply(key), outcome(future)));
        return answer;
    }

    static Map<String, Object> error(Throwable e) {
        Throwable cause = e;
        while (cause.getCause() != null
            && (cause instanceof ExecutionException || cause instanceof ReflectiveOperationException
                || cause.getClass() == org.apache.kafka.common.KafkaException.class)) {
            cause = cause.getCause();
        }
        return map("error", cause.getClass().getSimpleName(), "message", cause.getMessage());
    }

    static Map<String, Object> map(Object... pairs) {
        Map<String, Object> answer = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            answer.put((String) pairs[i], pairs[i + 1]);
        }
        return answer;
    }

    static boolean flag(JsonNode args, String name) {
        return args.path(name).asBoolean(false);
    }

    /** A string, or null if JSON has null or nothing. */
    static String text(JsonNode node, String name) {
        return node.hasNonNull(name) ? node.get(name).asText() : null;
    }

    static List<String> texts(JsonNode array) {
        List<String> answer = new ArrayList<>();
        array.forEach(each -> answer.add(each.asText()));
        return answer;
    }

    static List<Integer> integers(JsonNode array) {
        List<Integer> answer = new ArrayList<>();
        array.forEach(each -> answer.add(each.asInt()));
        return answer;
    }

    static Map<String, String> strings(JsonNode object) {
        Map<String, String> answer = new LinkedHashMap<>();
        object.fieldNames().forEachRemaining(name -> answer.put(name, text(object, name)));
        return answer;
    }
}
