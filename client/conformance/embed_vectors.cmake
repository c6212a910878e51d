# Writes OUTPUT, a C++ source with the text of every script in FOLDER.
file(GLOB scripts ${FOLDER}/*.hcalls)
set(source "#include \"client/conformance/suite.h\"

namespace papr::conformance {

const std::vector<ScriptFile>& BuiltInScripts() {
  static const std::vector<ScriptFile> kScripts = {
")
foreach(script IN LISTS scripts)
  cmake_path(GET script FILENAME name)
  file(READ ${script} text)
  string(APPEND source "      {\"${name}\", R\"hcalls(${text})hcalls\"},\n")
endforeach()
string(APPEND source "  };
  return kScripts;
}

}  // namespace papr::conformance
")
file(WRITE ${OUTPUT} "${source}")
