import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.security.PasswordEncoder;

/**
 * Kafka's own encoder of passwords (up to 3.9). A line of input: encode or decode, secret, key factory, cipher, bits of
 * the key, iterations, and the text, with tabs between them; secret and text in base64. A line of output: the result in
 * base64, or an exclamation mark and the exception's class.
 */
public final class Passwords {
    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] part = line.split("\t", -1);
            String answer;
            try {
                PasswordEncoder encoder = PasswordEncoder.encrypting(
                    new Password(text(part[1])), part[2], part[3], Integer.parseInt(part[4]), Integer.parseInt(part[5]));
                String made = part[0].equals("encode")
                    ? encoder.encode(new Password(text(part[6])))
                    : encoder.decode(text(part[6])).value();
                answer = Base64.getEncoder().encodeToString(made.getBytes(StandardCharsets.UTF_8));
            } catch (Exception e) {
                answer = "!" + e.getClass().getSimpleName();
            }
            out.println(answer);
        }
    }

    private static String text(String encoded) {
        return new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8);
    }
}
