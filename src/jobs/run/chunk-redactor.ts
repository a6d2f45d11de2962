// Redacts the chunks of running nodes. A text that may be the beginning of a secret is held back until that is decided. Each firing has separate streams
// for text and thinking, since concurrent chunks are not one text.
import type { OutputChunk } from '../../engine/node-api/node-context.ts'
import type { Steps } from '../../shared/time-slices.ts'

/** Redacts the pieces of one text. */
export interface RedactingTextStream {
  /** Adds a piece, and returns the text that may be shown now. */
  push(text: string): string
  /** Returns the rest at the end of the text. */
  end(): string
  /** Returns the rest of a text that was cut off. */
  cut(): string
  /** `cut` in steps. */
  cutSteps(): Steps<string>
  /** The number of characters held back. */
  readonly waiting: number
}

type SpeakerStreams = Record<'text' | 'thinking', RedactingTextStream>

export class ChunkRedactor {
  readonly #open: () => RedactingTextStream
  /** Streams by node and firing. */
  readonly #nodes = new Map<string, Map<object, SpeakerStreams>>()
  /** By node, the rests of texts that were cut in advance. */
  readonly #cuts = new Map<string, OutputChunk[]>()

  constructor(open: () => RedactingTextStream) {
    this.#open = open
  }

  /** Nodes that may have text held back. */
  get openNodes(): readonly string[] {
    return [...new Set([...this.#cuts.keys(), ...this.#nodes.keys()])]
  }

  /** The number of characters that all texts hold back. */
  get waiting(): number {
    let waiting = 0
    for (const speakers of this.#nodes.values())
      for (const { text, thinking } of speakers.values()) waiting += text.waiting + thinking.waiting
    return waiting
  }

  /** Cuts all texts off at the end of the run. `close` returns their rests. A chunk that comes late begins a text of its own. */
  *cutSteps(): Steps<void> {
    for (const [node_id, speakers] of [...this.#nodes]) {
      this.#nodes.delete(node_id)
      const rests: OutputChunk[] = []
      this.#cuts.set(node_id, rests)
      for (const { thinking, text } of speakers.values()) {
        rests.push(...toTextChunks(yield* thinking.cutSteps(), true), ...toTextChunks(yield* text.cutSteps(), false))
        yield
      }
    }
  }

  /** Adds a chunk of a firing, `speaker`, and returns the chunks to show. Chunks other than text are returned unchanged. */
  push(node_id: string, chunk: OutputChunk, speaker: object): OutputChunk[] {
    if (chunk.content_type !== 'text') return [chunk]
    const streams = this.#streamsOf(node_id, speaker)
    const content = streams[chunk.thinking ? 'thinking' : 'text'].push(chunk.content)
    if (!chunk.done) return content === '' && chunk.content !== '' ? [] : [{ ...chunk, content }]
    this.#nodes.get(node_id)!.delete(speaker)
    const [own, other] = chunk.thinking ? [streams.thinking, streams.text] : [streams.text, streams.thinking]
    return [...toTextChunks(other.end(), !chunk.thinking), { ...chunk, content: content + own.end() }]
  }

  /** Returns the chunks held back of a node that has ended. They belong to firings that did not report their end, and may have been cut off. */
  close(node_id: string): OutputChunk[] {
    const speakers = this.#nodes.get(node_id)?.values() ?? []
    const cut = this.#cuts.get(node_id) ?? []
    this.#nodes.delete(node_id)
    this.#cuts.delete(node_id)
    const rests = [...speakers].flatMap(({ thinking, text }) => [
      ...toTextChunks(thinking.cut(), true),
      ...toTextChunks(text.cut(), false),
    ])
    return [...cut, ...rests]
  }

  #streamsOf(node_id: string, speaker: object): SpeakerStreams {
    const speakers = this.#nodes.get(node_id) ?? new Map<object, SpeakerStreams>()
    this.#nodes.set(node_id, speakers)
    const streams = speakers.get(speaker) ?? { text: this.#open(), thinking: this.#open() }
    speakers.set(speaker, streams)
    return streams
  }
}

function toTextChunks(content: string, thinking: boolean): OutputChunk[] {
  return content === '' ? [] : [{ content, content_type: 'text', done: false, thinking }]
}
