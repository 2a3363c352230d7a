import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;

/**
 * Runs the main method of another class, and ends the JVM when standard input is closed, so that a broker never
 * outlives the Python process that started it.
 */
public final class Lifeline {
    public static void main(String[] args) throws Throwable {
        Thread watcher = new Thread(Lifeline::haltAtEndOfInput, "lifeline");
        watcher.setDaemon(true);
        watcher.start();
        try {
            Class.forName(args[0]).getMethod("main", String[].class)
                .invoke(null, (Object) Arrays.copyOfRange(args, 1, args.length));
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static void haltAtEndOfInput() {
        try {
            while (System.in.read() >= 0) {
                // Nothing is written here; only the end of the stream matters.
            }
        } catch (java.io.IOException e) {
            // Same as the end of the stream.
        }
        Runtime.getRuntime().halt(130);
    }
}
