# The tests over one transport (see over.hpp), whose name theirs begin with. Network...: those that make hosts of their own.
function(wia_tests_over transport filter)
  gtest_discover_tests(wia_test_field TEST_PREFIX ${transport}. TEST_FILTER ${filter} DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 300 ENVIRONMENT TEST_OVER=${transport})
endfunction()
wia_tests_over(shm "-Network*:*/Network*")
wia_tests_over(tcp "S0*:*/S0*:S10*:S12*:*/S12*:S18*:*/S13*")
if(WIA_OFI AND OFI_FOUND)
  wia_tests_over(ofi "S0*:*/S0*:S10*:S12*:*/S12*:S18*:*/S13*")
endif()
wia_tests_over(mixed "S0*:*/S0*:S10*:S12*:*/S12*:*/S13*")
wia_tests_over(namespaces "-S05*:*/S06*:S09*:S11*:S16*:*/S16*:S17*:S13Death.EndsAJobUnderTheLauncher:*_on_2*:*Program*")
wia_tests_over(namespaces2 "S01*:S02*:*/S02*:*/S04*:S10*:S12*:S18*")
