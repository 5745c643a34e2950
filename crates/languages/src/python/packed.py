import os
import re
import tempfile


def text(name):
    return open(name, encoding="utf-8").read() if os.path.exists(name) else ""


def show(folder, files):
    for file in files:
        print(os.path.join(folder, file))


project, has_setup = text("pyproject.toml"), os.path.exists("setup.py")
backend = re.search(r"^build-backend\s*=\s*\W(\w+)", project, re.M)
if backend and backend[1] != "setuptools":
    # By default all other backends take what has the name of the project.
    name = re.search(r"^name\s*=\s*\W([\w.-]+)", project, re.M)[1]
    name = re.sub(r"[-.]", "_", name).lower()
    for top in [name, "src/" + name]:
        show("", [top + ".py"])
        for folder, _, files in os.walk(top):
            show(folder, files)
elif has_setup or re.search(r"^\[(build-system|project|metadata)\]", project + "\n" + text("setup.cfg"), re.M):
    import setuptools
    from distutils import core

    if has_setup:
        of = core.run_setup("setup.py", stop_after="config")
    else:
        of = setuptools.Distribution({"script_name": "setup.py"})
        of.parse_config_files()
    of.set_defaults()
    # It would lie in the repository.
    of.get_option_dict("egg_info")["egg_base"] = ("", tempfile.mkdtemp())
    made = of.get_command_obj("build_py")
    made.ensure_finalized()
    show("", [module[2] for module in made.find_all_modules()])
    for _, folder, _, files in made.data_files:
        show(folder, files)
