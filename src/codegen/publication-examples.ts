// Golden examples: each instance as JSON, and as the MessagePack that stands for it on the socket.
import { encode } from '@msgpack/msgpack'
import type { Source } from './source.ts'
import type { Json } from './tree.ts'

/** The files of all instances of these schemas: `<Schema>.<example>.example.json` and `….example.hex`. */
export function exampleFiles(examples: Source['examples'], schemas: readonly string[]): [string, string][] {
  return schemas.flatMap((schema) =>
    [...(examples.get(schema) ?? [])].flatMap(([name, value]): [string, string][] => [
      [`${schema}.${name}.example.json`, `${JSON.stringify(value, null, 1)}\n`],
      [`${schema}.${name}.example.hex`, `${hexOf(value)}\n`],
    ]),
  )
}

/** Keys in the order of their UTF-16 code units, numbers in their shortest form: one text for one value. */
function hexOf(value: Json): string {
  return Buffer.from(encode(value, { sortKeys: true })).toString('hex')
}
