import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.utils.Exit;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;

/**
 * Runs Kafka's command line tools in one JVM. An input line is a JSON array of a class and its arguments; an output line
 * is {exit, stdout, stderr}. A tool that exits is stopped by an exception; its later output is dropped, because in its
 * own JVM it would have ended.
 */
public final class ToolServer {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static final class Exited extends Error {
        Exited() {
            super("the tool exits", null, false, false);
        }
    }

    /** The output of one tool, and the exit status of its first exit call. */
    private static final class Run {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        final ByteArrayOutputStream err = new ByteArrayOutputStream();
        ObjectNode answer = null;

        synchronized void exit(int status) {
            if (answer == null) {
                System.out.flush();
                System.err.flush();
                answer = JSON.createObjectNode();
                answer.put("exit", status);
                answer.put("stdout", out.toString(StandardCharsets.UTF_8));
                answer.put("stderr", err.toString(StandardCharsets.UTF_8));
            }
        }
    }

    /** Writes to the current run. */
    private static final class Switch extends OutputStream {
        private final Function<Run, OutputStream> stream;

        Switch(Function<Run, OutputStream> stream) {
            this.stream = stream;
        }

        @Override
        public void write(int b) throws IOException {
            stream.apply(current).write(b);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            stream.apply(current).write(bytes, offset, length);
        }
    }

    private static volatile Run current = new Run();

    public static void main(String[] ignored) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setIn(InputStream.nullInputStream());
        // Only once: Scala's Console keeps the first stream.
        System.setOut(new PrintStream(new Switch(run -> run.out), true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(new Switch(run -> run.err), true, StandardCharsets.UTF_8));
        Exit.setExitProcedure((status, message) -> leave(status));
        Exit.setHaltProcedure((status, message) -> leave(status));
        String line;
        while ((line = questions.readLine()) != null) {
            answers.println(JSON.writeValueAsString(run(JSON.readValue(line, String[].class))));
        }
    }

    private static void leave(int status) {
        current.exit(status);
        throw new Exited();
    }

    private static ObjectNode run(String[] command) {
        Run run = new Run();
        current = run;
        try {
            String[] args = new String[command.length - 1];
            System.arraycopy(command, 1, args, 0, args.length);
            Method main = Class.forName(command[0]).getMethod("main", String[].class);
            main.invoke(null, (Object) args);
            run.exit(0);
        } catch (InvocationTargetException e) {
            if (!(e.getCause() instanceof Exited)) {
                e.getCause().printStackTrace();
            }
            run.exit(1);
        } catch (ReflectiveOperationException e) {
            e.printStackTrace();
            run.exit(1);
        }
        return run.answer;
    }
}
