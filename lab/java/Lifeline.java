import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;

/**
 * Runs another class's main, and ends the JVM when standard input is closed: a broker never outlives the Python
 * process that started it, however that process died.
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
                // Nobody writes here; only the end matters.
            }
        } catch (java.io.IOException e) {
            // As good as the end.
        }
        Runtime.getRuntime().halt(130);
    }
}
