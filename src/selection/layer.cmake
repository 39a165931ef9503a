# Files of measured parameters are JSON; nlohmann-json is headers only, so nothing of it is exported.
find_package(nlohmann_json REQUIRED)
target_link_libraries(tutti_selection PRIVATE nlohmann_json::nlohmann_json)
