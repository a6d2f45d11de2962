// The generator's command line. Without options it writes the generated folder; `--check` compares it; `--lint` lints both documents.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { config } from '../../codegen.config.ts'
import { formatFinding, lintAsyncapi, lintOpenapi } from './checks/document-linters.ts'
import { readContract } from './documents/contract.ts'
import { ContractError } from './documents/contract-problems.ts'
import { generateFiles } from './generated-files.ts'
import { listFolderDifferences, writeGeneratedFiles } from './generated-folder.ts'

const root = resolve(import.meta.dirname, '../..')

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { check: { type: 'boolean' }, lint: { type: 'boolean' } } })
  const { contract, problems } = readContract(root, config)
  if (problems.length > 0) throw new ContractError(problems)
  if (values.lint) return await lintDocuments(contract)
  const folder = resolve(root, config.generated)
  const outputs = await generateFiles(contract, config)
  if (!values.check) {
    writeGeneratedFiles(folder, outputs)
    console.log(`${config.generated}: ${outputs.size} files from ${config.spec}`)
    return 0
  }
  const lines = listFolderDifferences(folder, outputs)
  if (lines.length === 0) return 0
  console.error(
    `${config.generated} differs from what ${config.spec} generates; run \`make generate\`:\n  ${lines.join('\n  ')}`,
  )
  return 1
}

async function lintDocuments({ openapi, asyncapi }: Parameters<typeof generateFiles>[0]): Promise<number> {
  const findings = [...(await lintOpenapi(openapi)), ...(await lintAsyncapi(asyncapi))]
  for (const finding of findings) console.log(formatFinding(finding))
  const serious = findings.filter(({ severity }) => severity !== 'info').length
  console.log(`${serious} errors and warnings, ${findings.length - serious} remarks`)
  return serious === 0 ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof ContractError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
