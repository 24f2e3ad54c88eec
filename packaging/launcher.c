/* The native launchers of the app. Each finds the interpreter inside the app by its own place, and starts it cut off
 * from the rest of the machine: no PYTHON* variables, no user's or system's packages, nothing written into the app.
 *
 * MTPLX_MODULE is the module to run with the command line as its arguments. Without it the launcher is the interpreter
 * itself, with Python's own command line: the engine process and other children are started with it.
 *
 * The library is opened at run time rather than linked to: its own name leads into /Library/Frameworks.
 */
#include <Python.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#define UP_FROM_HERE 2 /* Contents/MacOS/MTPLX and Contents/Helpers/mtplx are two below Contents */

static void *library;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "MTPLX is incomplete (%s: %s). Download it again.\n", what, why);
    exit(1);
}

static void *symbol(const char *name) {
    void *found = dlsym(library, name);
    if (!found)
        fail(name, "not in the interpreter");
    return found;
}
#define CALL(name) ((__typeof__(&name))symbol(#name))

/* The folder Contents, with every link on the way to it resolved. */
static void find_contents(char *path) {
    char own[PATH_MAX];
#ifdef __APPLE__
    uint32_t size = sizeof own;
    if (_NSGetExecutablePath(own, &size) != 0)
        fail("launcher", "its path is too long");
#else
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length < 0 || length == sizeof own - 1)
        fail("launcher", "its path is not known");
    own[length] = 0;
#endif
    if (!realpath(own, path))
        fail(own, "not there");
    for (int i = 0; i < UP_FROM_HERE; i++) {
        char *last = strrchr(path, '/');
        if (!last)
            fail("launcher", "it is outside the app");
        *last = 0;
    }
}

static void join(char *path, const char *folder, const char *rest) {
    if (snprintf(path, PATH_MAX, "%s/%s", folder, rest) >= PATH_MAX)
        fail(folder, "its path is too long");
}

static void check(PyStatus status) {
    if (CALL(PyStatus_Exception)(status))
        CALL(Py_ExitStatusException)(status);
}

#ifdef MTPLX_MODULE
/* Without the number of the process that the Finder of old added, and Qt's own start still knows of. */
static int without_number(int argc, char **argv) {
    int kept = 0;
    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], "-psn_", 5) != 0)
            argv[kept++] = argv[i];
    argv[kept] = NULL;
    return kept;
}
#endif

int main(int argc, char **argv) {
    char contents[PATH_MAX], path[PATH_MAX];
    find_contents(contents);
    join(path, contents, "Resources/lib/" MTPLX_PYTHON_LIBRARY);
    library = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* global: extension modules look for its names */
    if (!library)
        fail("interpreter", dlerror());

    PyPreConfig before;
    CALL(PyPreConfig_InitIsolatedConfig)(&before);
    before.utf8_mode = 1; /* a double-click brings no locale */
    check(CALL(Py_PreInitialize)(&before));

    PyConfig config;
    CALL(PyConfig_InitIsolatedConfig)(&config);
    config.write_bytecode = 0;
    config.install_signal_handlers = 1; /* Ctrl-C */
    join(path, contents, "Resources");
    check(CALL(PyConfig_SetBytesString)(&config, &config.home, path));
    join(path, contents, "Helpers/mtplx-engine");
    check(CALL(PyConfig_SetBytesString)(&config, &config.executable, path));
    check(CALL(PyConfig_SetBytesString)(&config, &config.base_executable, path));
#ifdef MTPLX_MODULE
    check(CALL(PyConfig_SetString)(&config, &config.run_module, L"" MTPLX_MODULE));
    argc = without_number(argc, argv);
#else
    config.parse_argv = 1;
#endif
    check(CALL(PyConfig_SetBytesArgv)(&config, argc, argv));
    check(CALL(Py_InitializeFromConfig)(&config));
    CALL(PyConfig_Clear)(&config);
    return CALL(Py_RunMain)();
}
