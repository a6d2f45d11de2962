// Work for processes and threads beside the main thread: small PDFs whose content unpacks to very much, and endless code.
import { deflateSync } from 'node:zlib'
import type { Graph } from '../../../src/engine/compile/graph.ts'
import { pdfOf, pdfStream } from '../../nodes/document-files.ts'
import type { Attack, AttackOf } from '../kit.ts'

const sized = (full: number, share: number, least: number) => Math.max(least, Math.floor(full * share))

/** A PDF whose one page has so many bytes of content, compressed twice. The content saves and restores the drawing state. */
function folded(size: number): Buffer {
  const content = deflateSync(deflateSync(Buffer.alloc(size, 'q Q '), { level: 9 }), { level: 9 })
  return pdfOf([
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents 4 0 R>>',
    pdfStream(content, '/Filter[/FlateDecode/FlateDecode]'),
  ])
}

const one = (type: string, data: Record<string, unknown>): Graph => ({ nodes: [{ id: 'n', type, data }], edges: [] })

export const pdfs: AttackOf = (share) => {
  const size = sized(100_000_000, share, 2_000_000)
  const bytes = folded(size)
  let id = ''
  return {
    name: `PDFs of ${bytes.length} bytes that unfold to ${size / 1e6} MB each`,
    side_by_side: 12,
    async prepare(attacker) {
      const file = await attacker.upload('attack.pdf', bytes)
      id = await attacker.store(one('document.PdfText', { document: `asset://${file}` }))
    },
    strike: (attacker) => attacker.expect(200, 'POST', `/api/workflows/${id}/run`, '{}'),
  }
}

/** Code that runs until its time limit. */
function endless(name: string, code: string, share: number): Attack {
  const data = { code, time_limit_ms: sized(5_000, share, 200) }
  let id = ''
  return {
    name,
    side_by_side: 16,
    async prepare(attacker) {
      id = await attacker.store(one('code.JavaScript', data))
    },
    strike: (attacker) => attacker.expect(200, 'POST', `/api/workflows/${id}/run`, '{}'),
  }
}

const loops: AttackOf = (share) => endless('code that never ends', 'for (;;);', share)

/** The engine's memory grows to its limit, so its worker is discarded. */
const hoarding: AttackOf = (share) =>
  endless('code that fills its memory', 'const all = []; for (;;) all.push("x".repeat(1000) + all.length)', share)

/** The same work by one user, half of it in another workspace. */
const inTwoWorkspaces =
  (of: AttackOf): AttackOf =>
  (share) => {
    const [here, there] = [of(share), of(share)]
    let strikes = 0
    return {
      ...here,
      name: `${here.name}, half of them in another workspace`,
      async prepare(attacker) {
        await here.prepare?.(attacker)
        await there.prepare?.(attacker.elsewhere!)
      },
      strike: (attacker) => (strikes++ % 2 === 0 ? here.strike(attacker) : there.strike(attacker.elsewhere!)),
    }
  }

/** A run whose code writes the most and longest lines while its user follows it. Each part of them may hold a truncated secret. */
const lines: AttackOf = (share) => {
  const count = sized(1_000, share, 60)
  const code = `for (let i = 0; i < ${count}; i++) console.log('abcdefgh…'.repeat(1111))`
  let id = ''
  return {
    name: `code that writes ${count} long lines`,
    async prepare(attacker) {
      id = await attacker.store(one('code.JavaScript', { code }))
    },
    async strike(attacker) {
      const socket = await attacker.socket()
      const ended = new Promise<void>((resolve, reject) => {
        socket.on('message', (data) => /job_update.{1,200}(?:completed|failed)/s.test(String(data)) && resolve())
        socket.once('close', (code) => reject(new Error(`the socket ended with ${code}`)))
      })
      socket.send(JSON.stringify({ command: 'run_job', data: { workflow_id: id } }))
      await ended.finally(() => socket.terminate())
    },
  }
}

export const workers: readonly AttackOf[] = [
  pdfs,
  loops,
  hoarding,
  lines,
  inTwoWorkspaces(pdfs),
  inTwoWorkspaces(loops),
]
