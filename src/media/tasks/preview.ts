// Tasks on files that nobody's workflow asked for: what there is to say of one, and a small picture of it, as WebP.
import type { Sharp } from 'sharp'
import type { Made, Task, Tasks } from '../serving.ts'
import { wavFacts } from './audio-wav.ts'
import { judged, opened } from './image-read.ts'

/** Of each side, in pixels. */
const LARGEST = 512
const QUALITY = 80

/** Metadata stays behind, and colours become those of sRGB. */
async function small(image: Sharp): Promise<Uint8Array> {
  const within = image.resize({ width: LARGEST, height: LARGEST, fit: 'inside', withoutEnlargement: true })
  return await judged(() => within.webp({ quality: QUALITY }).toBuffer())
}

async function ofImage([bytes]: readonly Uint8Array[]): Promise<Made> {
  const { image, width, height, frames } = await opened(bytes!)
  const value = frames > 1 ? { width, height, frames } : { width, height }
  return { files: [await small(image)], value }
}

/** A point of the first page is a pixel where that is small enough. */
const ofPdf: Task = async ([bytes]) => {
  const { drawnAs, pageOf, withDocument } = await import('./document-pdf.ts')
  return withDocument(bytes!, async (document, pages) => {
    const page = pageOf(document, 1)
    const scale = Math.min(1, LARGEST / Math.max(page.width, page.height))
    const pixels = (length: number) => Math.max(1, Math.round(length * scale))
    const image = await drawnAs(page, { width: pixels(page.width), height: pixels(page.height) })
    return { files: [await small(image)], value: { pages } }
  })
}

/** `size` is that of the whole file, of which the beginning is given. */
function ofWav([head]: readonly Uint8Array[], { size }: Readonly<Record<string, unknown>>): Made {
  const { rate: sample_rate, channels, frames } = wavFacts(head!, size as number)
  return { value: { duration: frames / sample_rate, channels, sample_rate } }
}

export const previewTasks: Tasks = { 'preview.image': ofImage, 'preview.pdf': ofPdf, 'preview.wav': ofWav }
