// The whole contract: read, bundled and checked by its own rules.
import { existsSync, readFileSync } from 'node:fs'
import type { CodegenConfig } from '../../../codegen.config.ts'
import { checkChannels, checkOperations, checkSchemas } from '../checks/contract-rules.ts'
import { checkErrorCatalogue } from '../checks/error-catalogue.ts'
import { checkPatterns } from '../checks/patterns.ts'
import { checkRequirements } from '../checks/requirements.ts'
import { checkPortability } from '../portable/portability-check.ts'
import { toPortableDocument } from '../portable/portable-document.ts'
import { type ContractProblem, deduplicateProblems } from './contract-problems.ts'
import { type ContractSource, readContractSource } from './contract-source.ts'
import { bundleDocument } from './document-bundler.ts'
import { attachExamples, type BundledDocuments, checkExamplesPresent, checkExamplesValid } from './examples.ts'
import { type JsonMap, mapOf, sortKeys } from './json-pointer.ts'

export interface Contract extends BundledDocuments {
  /** The SHA-256 of the sources. */
  hash: string
  errors: JsonMap
  /** The text about a value that does not match a pattern, by pattern. */
  patterns: JsonMap
  /** The requirements of conformance, by side. */
  requirements: JsonMap
  /** Texts that are published unchanged, by their published names. */
  pages: ReadonlyMap<string, string>
  /** Instances by schema name and file name. */
  examples: ContractSource['examples']
  /** The file of each schema. */
  schema_files: ReadonlyMap<string, string>
}

/** Reads and bundles `config.spec` below `root`. Returns the contract and all problems. */
export function readContract(root: string, config: CodegenConfig): { contract: Contract; problems: ContractProblem[] } {
  const problems: ContractProblem[] = []
  const source = readContractSource(`${root}/${config.spec}`, problems)
  const { openapi, asyncapi } = config.documents
  const http = bundleDocument(source, openapi.root, problems)
  const sockets = bundleDocument(source, asyncapi.root, problems)
  const schemas = sortKeys({ ...readComponentSchemas(http.document), ...readComponentSchemas(sockets.document) })
  const errors = source.files.get('errors.yaml') ?? {}
  const patterns = source.files.get('patterns.yaml') ?? {}
  const requirements = source.files.get('requirements.yaml') ?? {}
  const contract = {
    hash: source.hash,
    openapi: http.document,
    asyncapi: sockets.document,
    schemas,
    errors,
    patterns,
    requirements,
    pages: readPages(root, config, problems),
    examples: source.examples,
    schema_files: new Map([...source.schemas].map(([name, { file }]) => [name, file])),
  }
  attachExamples(contract, source)
  const used = new Set([...http.schemas, ...sockets.schemas])
  checkContract(contract, source, used, config, problems)
  return { contract, problems: deduplicateProblems(problems) }
}

function readPages(root: string, config: CodegenConfig, problems: ContractProblem[]): Map<string, string> {
  const pages = new Map<string, string>()
  for (const [name, file] of Object.entries(config.publication.pages)) {
    if (existsSync(`${root}/${file}`)) pages.set(name, readFileSync(`${root}/${file}`, 'utf8').replaceAll('\r\n', '\n'))
    else problems.push({ file, pointer: '', message: 'is missing, but the publication needs it' })
  }
  return pages
}

function readComponentSchemas(document: JsonMap): JsonMap {
  return mapOf(mapOf(document.components).schemas)
}

function checkContract(
  contract: Contract,
  source: ContractSource,
  used: ReadonlySet<string>,
  config: CodegenConfig,
  problems: ContractProblem[],
): void {
  const { openapi, asyncapi } = config.documents
  const documents = { [openapi.output]: contract.openapi, [asyncapi.output]: contract.asyncapi }
  checkSchemas(source, used, documents, config, problems)
  checkOperations(contract.openapi, openapi.output, config, problems)
  checkChannels(contract.asyncapi, asyncapi.output, config, problems)
  checkErrorCatalogue(contract.errors, 'errors.yaml', problems)
  checkPatterns(contract.patterns, Object.values(documents), 'patterns.yaml', problems)
  checkRequirements(contract.requirements, 'requirements.yaml', problems)
  checkExamplesPresent(contract, source, config, problems)
  // ajv throws for a schema that it cannot compile, and so does the portable form. The problems found so far must not be lost.
  try {
    checkExamplesValid(contract, source, config, problems)
    for (const [file, document] of Object.entries(documents))
      checkPortability(toPortableDocument(document), file, problems)
  } catch (error) {
    problems.push({ file: 'examples', pointer: '', message: (error as Error).message })
  }
}
