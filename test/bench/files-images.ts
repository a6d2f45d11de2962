// A workflow loads an image, resizes it, converts it and saves it as an asset. Beside it the image library is called directly for the same
// work: one decoding, one encoding, one synced file.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import type { RunResult, StoredObject, Workflow } from '../../generated/types.ts'
import { call } from '../helpers/http.ts'
import { runProcess, serve } from '../helpers/process.ts'
import type { BenchRow } from './engine.ts'
import { perSecond, row } from './files-kit.ts'
import { inFolder, WIDE } from './jobs.ts'
import { sized } from './scale.ts'
import { takeTurns } from './turns.ts'

const [WIDTH, HEIGHT, SMALL] = [2_400, 1_600, 800]
const COUNT = sized(40, 4)
const ROUNDS = 3
const AT_ONCE = [1, 4]

const edge = (source: string, sourceHandle: string, target: string, targetHandle: string) => ({
  ...{ id: `${source}-${target}`, source, sourceHandle, target, targetHandle },
})

const GRAPH = {
  nodes: [
    { id: 'uri', type: 'input.String', data: { name: 'uri' } },
    { id: 'load', type: 'image.Load', data: {} },
    { id: 'resize', type: 'image.Resize', data: { width: SMALL } },
    { id: 'convert', type: 'image.Convert', data: { format: 'webp' } },
    { id: 'out', type: 'output.Output', data: { name: 'out' } },
  ],
  edges: [
    edge('uri', 'output', 'load', 'image'),
    edge('load', 'image', 'resize', 'image'),
    edge('resize', 'image', 'convert', 'image'),
    edge('convert', 'image', 'out', 'value'),
  ],
}

export function benchImages(): Promise<BenchRow[]> {
  return inFolder(async (folder) => {
    const [source, made] = [join(folder, 'photo.jpg'), join(folder, 'made')]
    mkdirSync(made)
    const photo = await noise()
    writeFileSync(source, photo)
    await using service = await serve(join(folder, 'data'), WIDE)
    const stored = await call<StoredObject>(service, 'PUT', '/api/storage/1/photo.jpg', { raw: photo })
    const run = await pipeline(service, stored.body.uri)
    await run()
    const rows: BenchRow[] = []
    for (const at_once of AT_ONCE) {
      const turn = await takeTurns(ROUNDS, {
        bare: () => direct([source, made, SMALL, COUNT, at_once]),
        ours: () => perSecond(COUNT, at_once, run),
      })
      const name = `a picture of ${WIDTH} × ${HEIGHT} made smaller, ${at_once} at once`
      rows.push(
        row(`${name}, the library alone`, turn.bare, 'pictures/s'),
        row(`${name}, by a workflow`, turn.ours, 'pictures/s'),
        row(`${name}, in proportion`, turn.proportion),
      )
    }
    return rows
  })
}

/** An image with at least as much detail as a photograph. */
function noise(): Promise<Buffer> {
  const create = { width: WIDTH, height: HEIGHT, channels: 3, background: '#808080' } as const
  const dots = { ...create, noise: { type: 'gaussian', mean: 128, sigma: 30 } } as const
  return sharp({ create: dots }).blur(2).jpeg({ quality: 90 }).toBuffer()
}

/** Stores the workflow. The returned function runs it once, and fails where it produces no image. */
async function pipeline(server: { readonly url: string }, uri: string): Promise<() => Promise<void>> {
  const { body } = await call<Workflow>(server, 'POST', '/api/workflows', { body: { name: 'smaller', graph: GRAPH } })
  return async () => {
    const answer = await call<RunResult>(server, 'POST', `/api/workflows/${body.id}/run`, { body: { params: { uri } } })
    const made = answer.body.outputs?.out as { content_type?: string; uri?: string } | undefined
    if (made?.content_type !== 'image/webp' || made.uri === undefined) throw new Error(answer.text)
  }
}

async function direct(args: readonly (string | number)[]): Promise<number> {
  const script = fileURLToPath(new URL('files-images-direct.ts', import.meta.url))
  await using running = runProcess(script, args.map(String))
  const { code, stdout, stderr } = await running.ended()
  if (code !== 0) throw new Error(stderr)
  return 1_000 / Number(stdout)
}
