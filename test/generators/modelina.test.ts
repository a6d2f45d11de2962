// The published document of sockets, as it is, through Modelina in three languages; what comes out compiles, and reads the golden frames.
import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, type TestContext, test } from 'node:test'
import { type Frame, goldenFrames, withoutUnions } from './frames.ts'
import { goProgram } from './go.ts'
import { hasCompiler, modelina, PUBLISHED, pythonPackages, ROOT, run } from './tools.ts'

const place = mkdtempSync(join(tmpdir(), 'svc-generators-'))
after(() => rmSync(place, { recursive: true, force: true }))

const PROGRAMS = join(import.meta.dirname, 'programs')
/** More are there: fewer would mean that the test reads nothing. */
const LEAST_FRAMES = 50

interface Made {
  readonly folder: string
  readonly frames: readonly Frame[]
}

/** The types in the folder `models` of a new one, and the frames that they are to read; null after the test was skipped. */
async function made(context: TestContext, language: string): Promise<Made | null> {
  const tools = await modelina(context)
  if (tools === null) return null
  const folder = mkdtempSync(join(place, `${language}-`))
  const program = join(PROGRAMS, 'modelina.mjs')
  const args = [program, language, join(PUBLISHED, 'asyncapi.json'), join(folder, 'models')]
  const types = (await run(process.execPath, args, tools)).trim().split('\n')
  assert.deepEqual(
    types.filter((name) => /anonymous/i.test(name)),
    [],
  )
  const frames = goldenFrames(new Set(types))
  assert.ok(frames.length >= LEAST_FRAMES, `${frames.length} frames`)
  return { folder, frames }
}

describe('types made by Modelina', { concurrency: 2 }, () => {
  test('for TypeScript compile, and are those of the golden frames', async (context) => {
    const it = await made(context, 'typescript')
    if (it === null) return
    const names = [...new Set(it.frames.map(([name]) => name))]
    const imports = names.map((name) => `import type { ${name} } from './models/${name}'`)
    const values = it.frames.map(([name, value], at) => `export const frame${at}: ${name} = ${JSON.stringify(value)}`)
    writeFileSync(join(it.folder, 'use.ts'), [...imports, ...values].join('\n'))
    const options = [
      '--noEmit',
      '--strict',
      '--module',
      'esnext',
      '--moduleResolution',
      'bundler',
      '--target',
      'es2022',
    ]
    await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...options, 'use.ts'], it.folder)
  })

  test('for Go compile, and lose nothing of the golden frames', async (context) => {
    if (!(await hasCompiler(context, 'go', ['version']))) return
    const it = await made(context, 'go')
    if (it === null) return
    const frames = withoutUnions(it.frames)
    const makers = [...new Set(frames.map(([name]) => name))].map(
      (name) => `"${name}": func() any { return new(models.${name}) },`,
    )
    const table = ['package main', 'import "example.org/models"', 'var made = map[string]func() any{', ...makers, '}']
    writeFileSync(join(it.folder, 'made.go'), table.join('\n'))
    writeFileSync(join(it.folder, 'frames.json'), JSON.stringify(frames))
    copyFileSync(join(PROGRAMS, 'modelina.go'), join(it.folder, 'main.go'))
    // It complains of the tags that Modelina writes at members of unions, which Go has not.
    assert.equal(await goProgram(it.folder, ['frames.json'], { vet: false }), `${frames.length}\n`)
  })

  test('for Python can be imported, and lose nothing of the golden frames', async (context) => {
    const python = await pythonPackages(context, 'generators', ['pydantic==2.14.4'])
    const it = python && (await made(context, 'python'))
    if (!python || !it) return
    writeFileSync(join(it.folder, 'models/__init__.py'), '')
    writeFileSync(join(it.folder, 'frames.json'), JSON.stringify(it.frames))
    copyFileSync(join(PROGRAMS, 'modelina.py'), join(it.folder, 'use.py'))
    assert.equal(await run(join(python, 'bin/python'), ['use.py', 'frames.json'], it.folder), `${it.frames.length}\n`)
  })
})
