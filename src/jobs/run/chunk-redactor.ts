// The chunks of running nodes as they may be shown. What may turn out to be a secret is held back until that is known, of each firing and of its
// text and its thoughts apart: what several say at once is no one text.
import type { OutputChunk } from '../../engine/node-api/node-type.ts'

/** For the pieces of one text. */
export interface RedactingTextStream {
  /** Takes a piece, and gives what may be told now. */
  push(text: string): string
  /** The rest: nothing follows. */
  end(): string
  /** The same where more would have followed. */
  cut(): string
}

type SpeakerStreams = Record<'text' | 'thinking', RedactingTextStream>

export class ChunkRedactor {
  readonly #open: () => RedactingTextStream
  /** By node, then by who speaks. */
  readonly #nodes = new Map<string, Map<object, SpeakerStreams>>()

  constructor(open: () => RedactingTextStream) {
    this.#open = open
  }

  /** Of which something may be held back. */
  get openNodes(): readonly string[] {
    return [...this.#nodes.keys()]
  }

  /** What may be shown when a firing of a node, `speaker`, has told a piece. What is no text comes as it is. */
  push(node_id: string, chunk: OutputChunk, speaker: object): OutputChunk[] {
    if (chunk.content_type !== 'text') return [chunk]
    const streams = this.#streamsOf(node_id, speaker)
    const content = streams[chunk.thinking ? 'thinking' : 'text'].push(chunk.content)
    if (!chunk.done) return content === '' && chunk.content !== '' ? [] : [{ ...chunk, content }]
    this.#nodes.get(node_id)!.delete(speaker)
    const [own, other] = chunk.thinking ? [streams.thinking, streams.text] : [streams.text, streams.thinking]
    return [...toTextChunks(other.end(), !chunk.thinking), { ...chunk, content: content + own.end() }]
  }

  /** What is held back of a node that tells nothing more: of firings that did not say that they were done, which may have been cut. */
  close(node_id: string): OutputChunk[] {
    const speakers = this.#nodes.get(node_id)?.values() ?? []
    this.#nodes.delete(node_id)
    return [...speakers].flatMap(({ thinking, text }) => [
      ...toTextChunks(thinking.cut(), true),
      ...toTextChunks(text.cut(), false),
    ])
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
