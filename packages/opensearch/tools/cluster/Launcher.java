import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.opensearch.Version;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.PluginInfo;

/** One OpenSearch node from the class path. Arguments: KEY=VALUE settings. It ends when its standard input does. */
public final class Launcher extends Node {
    private static final List<String> PLUGINS = List.of(
        "org.opensearch.transport.Netty4ModulePlugin",
        "org.opensearch.analysis.common.CommonAnalysisModulePlugin",
        "org.opensearch.painless.PainlessModulePlugin",
        "org.opensearch.index.mapper.MapperExtrasModulePlugin",
        "org.opensearch.index.reindex.ReindexModulePlugin",
        "org.opensearch.knn.plugin.KNNPlugin");

    private Launcher(Environment environment, List<PluginInfo> plugins) {
        super(environment, plugins, false);
    }

    public static void main(String[] arguments) throws Exception {
        Settings.Builder settings = Settings.builder();
        for (String argument : arguments) {
            int equals = argument.indexOf('=');
            settings.put(argument.substring(0, equals), argument.substring(equals + 1));
        }
        List<PluginInfo> plugins = new ArrayList<>();
        for (String name : PLUGINS) {
            plugins.add(new PluginInfo(name, "classpath", "NA", Version.CURRENT, "21", name, null, List.of(), false));
        }
        Environment environment = InternalSettingsPreparer.prepareEnvironment(
            settings.build(), Map.of(), Path.of(settings.get("path.home"), "config"), () -> settings.get("node.name"));
        try (Launcher node = new Launcher(environment, plugins)) {
            node.start();
            System.out.println("started");
            while (System.in.read() >= 0) {
                // the parent holds the pipe open for as long as the node is wanted
            }
        }
        System.exit(0);
    }
}
