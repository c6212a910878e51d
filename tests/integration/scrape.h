// What Prometheus would see.

#ifndef TESTS_INTEGRATION_SCRAPE_H_
#define TESTS_INTEGRATION_SCRAPE_H_

#include <map>
#include <string>

namespace papr::server {

// The body of http://127.0.0.1:PORT/PATH, or empty.
std::string HttpGet(const std::string& url);

// Samples of the text format by series as it is written: "name{label="value",...}".
std::map<std::string, double> ParseSamples(const std::string& text);

}  // namespace papr::server

#endif  // TESTS_INTEGRATION_SCRAPE_H_
