// What OmegaT makes of a server and of a memory: its own Apertium client, and its own reader of TMX.
//
//     java -Djava.awt.headless=true -cp 'omegat/OmegaT.jar:omegat/lib/*' benchmarks/OmegaT.java URL SOURCE TARGET FILE.tmx TEXT...
//
// Prints the translation of each text, and the number of segments. For OmegaT 3.6, whose address of the server is a
// field of the class: later versions have a setting for it.

import java.io.File;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import javax.swing.JMenu;
import org.omegat.core.Core;
import org.omegat.core.machinetranslators.ApertiumTranslate;
import org.omegat.gui.main.IMainMenu;
import org.omegat.gui.main.IMainWindow;
import org.omegat.util.Language;
import org.omegat.util.TMXReader2;

public class OmegaT extends ApertiumTranslate {
    public static void main(String[] given) throws Exception {
        openWindow();
        GT_URL = given[0] + "/translate?q=";
        Language source = new Language(given[1]), target = new Language(given[2]);
        OmegaT client = new OmegaT();
        for (int place = 4; place < given.length; place++) {
            System.out.println(given[place] + " -> " + client.translate(source, target, given[place]));
        }
        List<String> segments = new ArrayList<>();
        new TMXReader2().readTMX(new File(given[3]), source, target, false, false, true, true, (unit, one, other, isParagraph) -> {
            segments.add(one.text + " = " + other.text);
            return true;
        });
        System.out.println(segments.size() + " segments, the first: " + segments.get(0));
    }

    // A machine translator adds itself to the menu of the window.
    private static void openWindow() throws Exception {
        IMainMenu menu = faked(IMainMenu.class, (self, method, values) -> new JMenu());
        InvocationHandler answers = (self, method, values) -> method.getName().equals("getMainMenu") ? menu : null;
        Field window = Core.class.getDeclaredField("mainWindow");
        window.setAccessible(true);
        window.set(null, faked(IMainWindow.class, answers));
    }

    private static <T> T faked(Class<T> type, InvocationHandler answers) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, answers));
    }
}
