import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;

/** A remote tier that keeps nothing, so that topics may be tiered. */
public class EmptyTier implements RemoteStorageManager {
    public void configure(Map<String, ?> configs) { }

    public void close() { }

    public Optional<RemoteLogSegmentMetadata.CustomMetadata> copyLogSegmentData(
            RemoteLogSegmentMetadata metadata, LogSegmentData data) {
        return Optional.empty();
    }

    public InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, int start) {
        return new ByteArrayInputStream(new byte[0]);
    }

    public InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, int start, int end) {
        return new ByteArrayInputStream(new byte[0]);
    }

    public InputStream fetchIndex(RemoteLogSegmentMetadata metadata, IndexType type) {
        return new ByteArrayInputStream(new byte[0]);
    }

    public void deleteLogSegmentData(RemoteLogSegmentMetadata metadata) { }
}
