#!/usr/bin/env bash
# The wire contract is frozen in text, so that every change of it shows as a diff.
# With --refresh: writes that text instead of comparing with it.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

frozen=proto/papr/mmu/v1/descriptor.txtpb

# The descriptors of every file of the contract, by name, without comments.
describe() {
  (cd proto && protoc --proto_path=. --include_imports --descriptor_set_out=/dev/stdout \
    papr/mmu/v1/*.proto) |
    protoc --decode=google.protobuf.FileDescriptorSet google/protobuf/descriptor.proto
}

if [[ ${1-} == --refresh ]]; then
  describe >"$frozen"
  exit
fi

if ! describe | diff -u "$frozen" -; then
  wrong "the wire contract is not what $frozen says; if that is meant:" \
    'tests/style/descriptor.sh --refresh'
fi
finish
