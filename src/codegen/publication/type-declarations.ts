// `types.d.ts` of the publication: the TypeScript types of its schemas.
import type { Contract } from '../documents/contract.ts'
import { emitTypes } from '../emitters/types.ts'

/** Emits the types of these schemas, each exported under its own name. */
export async function emitPublishedTypes(
  contract: Contract,
  names: readonly string[],
  version: string,
): Promise<string> {
  const schemas = Object.fromEntries(names.map((name) => [name, contract.schemas[name] ?? {}]))
  const document = { openapi: '3.1.0', info: { title: 'Lifecycle', version }, paths: {} }
  const text = await emitTypes({ openapi: document, schemas })
  return `// The lifecycle profile, version 1: types of its schemas. The contract is version ${version}.\n${text}`
}
