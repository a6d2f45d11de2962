// Golden examples: each instance as JSON, and as MessagePack for the socket.
import { encode } from '@msgpack/msgpack'
import type { ContractSource } from '../documents/contract-source.ts'
import type { Json } from '../documents/json-pointer.ts'

/** Returns the files of all instances of these schemas: `<Schema>.<example>.example.json` and `….example.hex`. */
export function createExampleFiles(
  examples: ContractSource['examples'],
  schemas: readonly string[],
): [string, string][] {
  return schemas.flatMap((schema) =>
    [...(examples.get(schema) ?? [])].flatMap(([name, value]): [string, string][] => [
      [`${schema}.${name}.example.json`, `${JSON.stringify(value, null, 1)}\n`],
      [`${schema}.${name}.example.hex`, `${encodeHex(value)}\n`],
    ]),
  )
}

/** Encodes a value canonically: keys in the order of their UTF-16 code units, numbers in their shortest form. */
function encodeHex(value: Json): string {
  return Buffer.from(encode(value, { sortKeys: true })).toString('hex')
}
