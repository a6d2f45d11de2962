// The contract as a whole: read, bundled and checked by its own rules.
import { existsSync, readFileSync } from 'node:fs'
import type { CodegenConfig } from '../../codegen.config.ts'
import { bundleDocument } from './bundle.ts'
import { checkCatalogue } from './catalogue.ts'
import { attachExamples, checkExamplesPresent, checkExamplesValid, type Documents } from './examples.ts'
import { checkPatterns } from './patterns.ts'
import { portable } from './portable.ts'
import { checkPortable } from './portable-rules.ts'
import { type ContractProblem, distinctProblems } from './problems.ts'
import { checkRequirements } from './requirements.ts'
import { checkChannels, checkOperations, checkSchemas } from './rules.ts'
import { readSource, type Source } from './source.ts'
import { type JsonMap, mapOf, sorted } from './tree.ts'

export interface Contract extends Documents {
  /** SHA-256 of the sources. */
  hash: string
  errors: JsonMap
  /** What is said of a text that does not fit a pattern, by pattern. */
  patterns: JsonMap
  /** What conformance asks, by side. */
  requirements: JsonMap
  /** The texts that are published as they are, by the names that they get. */
  pages: ReadonlyMap<string, string>
  /** Instances by schema name and file name. */
  examples: Source['examples']
  /** The file that each schema stands in. */
  schema_files: ReadonlyMap<string, string>
}

/** Reads `config.spec` under `root` and bundles it, with everything that is wrong with it. */
export function readContract(root: string, config: CodegenConfig): { contract: Contract; problems: ContractProblem[] } {
  const problems: ContractProblem[] = []
  const source = readSource(`${root}/${config.spec}`, problems)
  const { openapi, asyncapi } = config.documents
  const http = bundleDocument(source, openapi.root, problems)
  const sockets = bundleDocument(source, asyncapi.root, problems)
  const schemas = sorted({ ...schemasOf(http.document), ...schemasOf(sockets.document) })
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
  check(contract, source, used, config, problems)
  return { contract, problems: distinctProblems(problems) }
}

function readPages(root: string, config: CodegenConfig, problems: ContractProblem[]): Map<string, string> {
  const pages = new Map<string, string>()
  for (const [name, file] of Object.entries(config.publication.pages)) {
    if (existsSync(`${root}/${file}`)) pages.set(name, readFileSync(`${root}/${file}`, 'utf8').replaceAll('\r\n', '\n'))
    else problems.push({ file, pointer: '', message: 'is missing, and is published' })
  }
  return pages
}

function schemasOf(document: JsonMap): JsonMap {
  return mapOf(mapOf(document.components).schemas)
}

function check(
  contract: Contract,
  source: Source,
  used: ReadonlySet<string>,
  config: CodegenConfig,
  problems: ContractProblem[],
): void {
  const { openapi, asyncapi } = config.documents
  const documents = { [openapi.output]: contract.openapi, [asyncapi.output]: contract.asyncapi }
  checkSchemas(source, used, documents, config, problems)
  checkOperations(contract.openapi, openapi.output, config, problems)
  checkChannels(contract.asyncapi, asyncapi.output, config, problems)
  checkCatalogue(contract.errors, 'errors.yaml', problems)
  checkPatterns(contract.patterns, Object.values(documents), 'patterns.yaml', problems)
  checkRequirements(contract.requirements, 'requirements.yaml', problems)
  checkExamplesPresent(contract, source, config, problems)
  // What ajv cannot compile would hide the reasons found so far, and so would a schema of which no form can be made.
  try {
    checkExamplesValid(contract, source, config, problems)
    for (const [file, document] of Object.entries(documents)) checkPortable(portable(document), file, problems)
  } catch (error) {
    problems.push({ file: 'examples', pointer: '', message: (error as Error).message })
  }
}
