// `lifecycle-v1/`: the contract of the lifecycle profile as a product of its own, in a flat, self-contained folder.
import type { CodegenConfig } from '../../../codegen.config.ts'
import type { Contract } from '../documents/contract.ts'
import { type Json, mapOf, sortKeys, textOf } from '../documents/json-pointer.ts'
import type { GeneratedFiles } from '../generated-folder.ts'
import { toPortableDocument } from '../portable/portable-document.ts'
import { createExampleFiles } from './golden-examples.ts'
import { createImplementedAsyncapi, createImplementedOpenapi } from './implemented-documents.ts'
import { createIndexText } from './index-file.ts'
import { createManifest } from './operations-manifest.ts'
import { createPackageManifest, createReadme } from './package-and-readme.ts'
import { createSchemaFile, listLifecycleSchemas } from './schema-files.ts'
import { emitPublishedTypes } from './type-declarations.ts'

/** Returns every file of the publication by its name, including the index. */
export async function emitPublication(contract: Contract, config: CodegenConfig): Promise<GeneratedFiles> {
  const { openapi, asyncapi, errors, requirements } = contract
  const { publication } = config
  const version = textOf(mapOf(openapi.info).version)
  const names = listLifecycleSchemas(contract, publication)
  const schemas = names.map((name) => [
    `${name}.json`,
    formatJson(createSchemaFile(contract.schemas, name, publication.base)),
  ])
  const files = new Map<string, string>([
    ...(schemas as [string, string][]),
    ...createExampleFiles(contract.examples, names),
    ['openapi.json', formatJson(toPortableDocument(openapi))],
    ['openapi.implemented.json', formatJson(toPortableDocument(createImplementedOpenapi(openapi)))],
    ['asyncapi.json', formatJson(toPortableDocument(asyncapi))],
    ['asyncapi.implemented.json', formatJson(toPortableDocument(createImplementedAsyncapi(asyncapi)))],
    ['operations.json', formatJson(createManifest(contract, version))],
    ['errors.json', formatJson(sortKeys(errors))],
    ['requirements.json', formatJson(requirements)],
    ['types.d.ts', await emitPublishedTypes(contract, names, version)],
    ['package.json', formatJson(createPackageManifest(publication, version))],
    ['README.md', createReadme(publication, version)],
    ...contract.pages,
  ])
  return new Map([...files, [publication.index, createIndexText(version, files)]])
}

/** Formats equal values equally. Members keep the order of the contract. */
export function formatJson(value: Json): string {
  return `${JSON.stringify(value, null, 1)}\n`
}
