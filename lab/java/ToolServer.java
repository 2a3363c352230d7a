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
 * Kafka's command line tools, many in one JVM. A line of input is a JSON array, a class and its arguments; a line of
 * output is {exit, stdout, stderr}. A tool that exits is stopped by an exception; what it says after that is dropped,
 * for in a JVM of its own it would not have lived to say it.
 */
public final class ToolServer {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static final class Exited extends Error {
        Exited() {
            super("the tool exits", null, false, false);
        }
    }

    /** What one tool wrote, and the status it left with, fixed at the moment it first asked to exit. */
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

    /** Writes to the run that is current at that moment. */
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
        // Once for all: Scala's Console keeps the stream that it sees first.
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
