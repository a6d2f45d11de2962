// `lifecycle-v1/`: the contract of the lifecycle profile as a product of its own, a flat folder that needs nothing beside it.
import type { CodegenConfig } from '../../codegen.config.ts'
import type { Contract } from './contract.ts'
import type { Outputs } from './output.ts'
import { portable } from './portable.ts'
import { exampleFiles } from './publication-examples.ts'
import { indexText } from './publication-index.ts'
import { manifestOf } from './publication-manifest.ts'
import { packageManifest, readmeText } from './publication-package.ts'
import { implementedAsyncapi, implementedOpenapi } from './publication-pruned.ts'
import { lifecycleSchemas, schemaFile } from './publication-schemas.ts'
import { publishedTypes } from './publication-types.ts'
import { type Json, mapOf, sorted, textOf } from './tree.ts'

/** Every file of the publication by its name, the index included. */
export async function emitPublication(contract: Contract, config: CodegenConfig): Promise<Outputs> {
  const { openapi, asyncapi, errors, requirements } = contract
  const { publication } = config
  const version = textOf(mapOf(openapi.info).version)
  const names = lifecycleSchemas(contract, publication)
  const schemas = names.map((name) => [`${name}.json`, jsonText(schemaFile(contract.schemas, name, publication.base))])
  const files = new Map<string, string>([
    ...(schemas as [string, string][]),
    ...exampleFiles(contract.examples, names),
    ['openapi.json', jsonText(portable(openapi))],
    ['openapi.implemented.json', jsonText(portable(implementedOpenapi(openapi)))],
    ['asyncapi.json', jsonText(portable(asyncapi))],
    ['asyncapi.implemented.json', jsonText(portable(implementedAsyncapi(asyncapi)))],
    ['operations.json', jsonText(manifestOf(contract, version))],
    ['errors.json', jsonText(sorted(errors))],
    ['requirements.json', jsonText(requirements)],
    ['types.d.ts', await publishedTypes(contract, names, version)],
    ['package.json', jsonText(packageManifest(publication, version))],
    ['README.md', readmeText(publication, version)],
    ...contract.pages,
  ])
  return new Map([...files, [publication.index, indexText(version, files)]])
}

/** The same text for the same value: members keep the order of the contract. */
export function jsonText(value: Json): string {
  return `${JSON.stringify(value, null, 1)}\n`
}
