// What was launched ends when its launcher is killed, and when make or npm above the launcher is. Nobody else's end ends it.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { LAUNCHER, MAIN, runProcess, SVC } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'

let folder: string

before(() => {
  folder = temporaryFolder()
})

after(() => {
  rmSync(folder, { recursive: true, force: true })
})

let folders = 0
function newFolder(): string {
  const path = join(folder, `data-${++folders}`)
  mkdirSync(path)
  return path
}

interface Started {
  readonly child: ChildProcess
  readonly data_dir: string
  output(): string
  /** Settles when the whole of it, the server included, has closed its output. */
  readonly closed: Promise<unknown>
}

/** Starts a command above a server, whose output is that of the command, until the server listens. */
async function start(command: string, args: readonly string[], cwd = folder): Promise<Started> {
  const data_dir = newFolder()
  const { NODE_TEST_CONTEXT: _context, ...surroundings } = process.env
  const child = spawn(command, args, {
    cwd,
    env: { ...surroundings, SVC_DATA_DIR: data_dir, SVC_LOG_LEVEL: 'silent', SVC_PROBE_LOCAL_MODELS: 'off' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout!.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  const closed = once(child, 'close')
  await until('the server to listen', () => text.includes('listens on'))
  return { child, data_dir, output: () => text, closed }
}

/** It stops as by SIGTERM, and holds nothing any more. */
async function endsOrderly({ data_dir, output, closed }: Started): Promise<void> {
  await closed
  assert.match(output(), /svc stops: new work is refused/)
  assert.equal(existsSync(join(data_dir, 'owner')), false)
}

const SERVE = ['serve', '--port', '0']
const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ')

describe('a server', () => {
  test('ends when its launcher is killed', async () => {
    const started = await start(process.execPath, [LAUNCHER, MAIN, ...SERVE])
    started.child.kill('SIGKILL')
    await endsOrderly(started)
  })

  for (const [what, script] of [
    ['the launcher', [LAUNCHER, MAIN]],
    ['the executable', [SVC]],
  ] as const) {
    test(`ends when make above ${what} is killed`, async () => {
      const cwd = newFolder()
      writeFileSync(join(cwd, 'Makefile'), `start:\n\t@exec ${quoted([process.execPath, ...script, ...SERVE])}\n`)
      const started = await start('make', ['--silent', 'start'], cwd)
      started.child.kill('SIGKILL')
      await endsOrderly(started)
    })
  }

  test('ends when npm above the launcher is killed', async () => {
    const cwd = newFolder()
    const command = quoted([process.execPath, LAUNCHER, MAIN, ...SERVE])
    // What follows keeps the shell between both.
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ scripts: { start: `${command}; true` } }))
    const started = await start('npm', ['run', '--silent', 'start'], cwd)
    started.child.kill('SIGKILL')
    await endsOrderly(started)
  })

  test('goes on when the shell that started it ends', async () => {
    const launched = quoted([process.execPath, LAUNCHER, MAIN, ...SERVE])
    const started = await start('sh', ['-c', `${launched} & echo "id $!"; read line; exit 0`])
    const id = Number(/id (\d+)/.exec(started.output())![1])
    const exited = once(started.child, 'exit')
    started.child.stdin!.write('end\n')
    await exited
    const url = /listens on (\S+)/.exec(started.output())![1]!
    // Longer than the launcher takes between two looks.
    for (const until = performance.now() + 2_500; performance.now() < until; ) {
      assert.equal((await fetch(`${url}/health`)).status, 200)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    process.kill(id, 'SIGTERM')
    await endsOrderly(started)
  })
})

test('what is no launcher’s child takes no channel for one', async () => {
  await using running = runProcess(MAIN, ['--version'], { SVC_LAUNCHED: '1' })
  assert.equal((await running.ended()).code, 0)
})
