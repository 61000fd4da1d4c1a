// SPDX-License-Identifier: BSD-3-Clause
// Puts features in words, for the error message that two gateways differ.
#include "datagram/handshake_packets.hpp"

#include "datagram/endpoint.hpp"

namespace acp::datagram {

namespace {

std::string cipher_name(std::uint8_t number) {
    if (number == number_of_aes_128_gcm) return "aes-128-gcm";
    if (number == number_of_chacha20_poly1305) return "chacha20-poly1305";
    return "cipher " + std::to_string(number);
}

}  // namespace

std::string text_of(const Features& features) {
    std::string text;
    switch (static_cast<base::Security>(features.security)) {
        case base::Security::off:
            return "security off";
        case base::Security::encrypt:
            text = "encrypt by ";
            break;
        case base::Security::authenticate:
            text = "authenticate by ";
            break;
        default:
            text = "security " + std::to_string(features.security) + " by ";
            break;
    }
    text += cipher_name(features.cipher);
    text += features.agreement == 1 ? ", keys agreed on by x25519" : ", no key agreement";
    return text + ", 2^" + std::to_string(features.key_packets_log2) + " packets per key";
}

}  // namespace acp::datagram
