// The common setup of ajv: draft 2020-12, strict, all errors.
import { Ajv2020, type Options } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { JsonMap } from './json-pointer.ts'

const addFormats = formats.default

/** Creates an ajv with our formats and without schemas. */
export function createAjv(options: Options = {}): Ajv2020 {
  const ajv = new Ajv2020({ allErrors: true, strict: true, strictTypes: true, allowUnionTypes: true, ...options })
  addFormats(ajv)
  ajv.addFormat('binary', true)
  return ajv
}

/** Creates an ajv that knows `#/components/schemas/…`. */
export function createContractAjv(schemas: JsonMap): Ajv2020 {
  const ajv = createAjv()
  for (const [name, schema] of Object.entries(schemas)) ajv.addSchema(schema as object, `#/components/schemas/${name}`)
  return ajv
}
