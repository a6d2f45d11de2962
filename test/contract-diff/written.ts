// Publications on the disk that differ from the real one in one place, and agree with themselves all the same.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Contract } from '../../src/codegen/documents/contract.ts'
import {
  createImplementedAsyncapi,
  createImplementedOpenapi,
} from '../../src/codegen/publication/implemented-documents.ts'
import { createIndexText } from '../../src/codegen/publication/index-file.ts'
import { createManifest } from '../../src/codegen/publication/operations-manifest.ts'
import type { JsonMap } from '../../src/contract/json.ts'
import { at, type Change, changed, FOLDER, real } from './kit.ts'

/** Writes a folder with changed documents, everything that follows from them, and a version. Gives the folder. */
export function written(folder: string, change: Change, version: string = real.contract_version): string {
  mkdirSync(folder, { recursive: true })
  cpSync(FOLDER, folder, { recursive: true })
  const { json } = changed((draft) => {
    for (const document of [draft.openapi, draft.asyncapi]) at(document, 'info').version = version
    change(draft)
  })
  const [openapi, asyncapi] = [json('openapi.json'), json('asyncapi.json')]
  const schemas = at(asyncapi, 'components', 'schemas')
  const files: Record<string, JsonMap> = {
    'openapi.json': openapi,
    'asyncapi.json': asyncapi,
    'openapi.implemented.json': createImplementedOpenapi(openapi),
    'asyncapi.implemented.json': createImplementedAsyncapi(asyncapi),
    'operations.json': createManifest({ openapi, asyncapi, schemas } as unknown as Contract, version),
    'package.json': { ...json('package.json'), version },
  }
  for (const [name, value] of Object.entries(files)) writeFileSync(join(folder, name), JSON.stringify(value))
  return indexed(folder, version)
}

/** Gives a folder an index that fits. */
export function indexed(folder: string, version: string = real.contract_version): string {
  const contents = new Map(real.names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
  writeFileSync(join(folder, 'index.json'), createIndexText(version, contents))
  return folder
}
