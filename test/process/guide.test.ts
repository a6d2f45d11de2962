// The guide's terminal commands run as printed, with the printed results.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { codeBlocks, readGuidePage } from '../helpers/documents.ts'
import { inFolder } from '../helpers/folder.ts'
import { MAIN } from '../helpers/process.ts'

const RUNS = ['command-line', 'chat-and-agents', 'nodes'].map((name) => ({
  name,
  blocks: [
    ...readGuidePage(name).matchAll(
      /```sh\n((?:cat > [\s\S]*?\nEND\n)?svc run [\s\S]*?)```\n\n```json\n([\s\S]*?)```/g,
    ),
  ],
}))

const LAUNCHERS = ['command-line', 'backup-and-recovery'].flatMap((name) =>
  [...readGuidePage(name).matchAll(/\/opt\/svc(\/[\w./-]*\w)/g)].map(([, path]) => path!),
)

describe('the guide, in the terminal', () => {
  test('names a launcher that starts from any folder', () => {
    assert.deepEqual([...new Set(LAUNCHERS)], ['/src/launch/svc.mjs'])
    const launcher = fileURLToPath(new URL(`../..${LAUNCHERS[0]}`, import.meta.url))
    const given = execFileSync(launcher, ['--version'], { cwd: tmpdir(), encoding: 'utf8' })
    assert.match(given, /^\d+\.\d+\.\d+\n$/)
  })

  test(
    'the graph of the page on nodes gives what the example gives',
    inFolder((cwd) => {
      const [graph, printed] = codeBlocks(readGuidePage('nodes'), 'json')
      writeFileSync(join(cwd, 'graph.json'), graph!)
      const args = [MAIN, 'run', 'graph.json', '--quiet']
      assert.equal(execFileSync(process.execPath, args, { cwd, encoding: 'utf8' }), printed)
    }),
  )

  for (const { name, blocks } of RUNS) {
    test(`${name} shows a run`, () => assert.ok(blocks.length > 0))
    for (const [, command, printed] of blocks) {
      test(
        `${name}: ${command!.trim()} prints what the page shows`,
        inFolder((cwd) => {
          const here = command!.replace(/^svc(?= run)/m, `"${process.execPath}" "${MAIN}"`)
          const given = execFileSync('sh', ['-c', here], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
          assert.equal(given, printed)
        }),
      )
    }
  }
})
