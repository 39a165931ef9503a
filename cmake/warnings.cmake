# tutti_warnings(target): the warnings that every target of ours is built with.
function(tutti_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic)
  if(TUTTI_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
