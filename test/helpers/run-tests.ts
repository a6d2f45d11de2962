// `make test`: the files of a folder share a process, which loads the server's modules once. With `--whole` the gate follows, which lists what of the
// contract no test has reached.
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { writeBatches } from './batches.ts'
import { clearRecords } from './reached.ts'
import { listUnreached } from './reached-gate.ts'

const RECORDS = resolve('.cache/test-reached')
/** A test that takes so long, in milliseconds, waits for what never comes: it fails by its name. */
const TEST_MS = 900_000

const given = process.argv.slice(2)
const isWhole = given.includes('--whole')
const files = given.filter((argument) => !argument.startsWith('--'))

clearRecords(RECORDS)
const options = ['--test', '--test-concurrency=2', `--test-timeout=${TEST_MS}`]
const { status } = spawnSync(process.execPath, [...options, ...writeBatches(files)], {
  stdio: 'inherit',
  env: { ...process.env, SVC_TEST_REACHED: RECORDS },
})
process.exitCode = status ?? 1
const unreached = isWhole && status === 0 ? listUnreached(RECORDS) : []
if (unreached.length > 0) {
  console.error(`No test has reached:\n${unreached.map((line) => `  ${line}`).join('\n')}`)
  process.exitCode = 1
}
