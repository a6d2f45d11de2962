// Tests that every bundled example runs from the terminal as the guide prints it, with the outputs in its file.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { loadExamples } from '../../src/workflows/examples.ts'
import { readGuidePage } from '../helpers/documents.ts'
import { SVC } from '../helpers/process.ts'
import { withoutPlaces } from './example-files.ts'
import { examplesWeb, PRINTED } from './examples-web.ts'

const start = promisify(execFile)
const COMMANDS = new Map(
  [...readGuidePage('examples').matchAll(/^\| `([^`]+)` \| .+ \| `([^`]+)` \|$/gm)].map(([, id, command]) => [
    id!,
    command!,
  ]),
)

const ROOT = new URL('../../', import.meta.url)

async function outputsOf(command: string): Promise<unknown> {
  // Runs offline, so that `npx` can only find the local package.
  const env = { ...process.env, SVC_LOG_LEVEL: 'silent', npm_config_offline: 'true' }
  const { stdout } = await start('sh', ['-c', command], { cwd: ROOT, env })
  return withoutPlaces(JSON.parse(stdout), async (uri) => assert.fail(`${uri} is on no server`))
}

test('the guide prints one command for each example', () => {
  assert.deepEqual([...COMMANDS.keys()].sort(), [...loadExamples().keys()])
  for (const [id, command] of COMMANDS) assert.match(command, new RegExp(`^([A-Z_]+=\\S+ )?svc run ${id}( --param |$)`))
})

describe('svc run, as the guide prints it', { concurrency: 2 }, () => {
  for (const [id, command] of COMMANDS) {
    test(command, async () => {
      await using web = await examplesWeb()
      const here = command.replace(/(?<!\S)svc(?= run)/, `"${process.execPath}" "${SVC}"`).replace(PRINTED, web.url)
      assert.deepEqual(await outputsOf(here), loadExamples().get(id)?.outputs)
    })
  }
})

test('the alias in the guide, and npx, find svc', async () => {
  const [alias] = /^alias svc="\$PWD\/(.*)"$/m.exec(readGuidePage('command-line'))!.slice(1)
  const rest = COMMANDS.get('greeting')!.replace(/^svc/, '')
  for (const command of [`"$PWD/${alias}"`, 'npx svc'])
    assert.deepEqual(await outputsOf(command + rest), loadExamples().get('greeting')!.outputs)
})
