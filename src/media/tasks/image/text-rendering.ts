// Renders text with Pango in the fonts of the service. The text is escaped, so that it cannot contain Pango markup.
import sharp, { type Sharp } from 'sharp'
import { MediaFault } from '../../fault.ts'
import { LONGEST_SIDE, mapImageErrors } from './codec.ts'
import { type Colour, imageFromPixels, readPixels } from './task-helpers.ts'

const FONT_FAMILIES = { sans: 'DejaVu Sans', serif: 'DejaVu Serif', mono: 'DejaVu Sans Mono' } as const

/** In characters. */
const LONGEST_TEXT = 10_000

export interface TextStyle {
  readonly font: keyof typeof FONT_FAMILIES
  readonly bold: boolean
  /** In pixels, of the letters. */
  readonly size: number
  readonly colour: Colour
  readonly align: 'left' | 'center' | 'right'
}

/**
 * Gives an image as large as its letters; null for a text without letters. Lines break at the width, within words if necessary.
 * @throws MediaFault `too_large`
 */
export async function renderText(text: string, width: number, as: TextStyle): Promise<Sharp | null> {
  const plain = removeControlCharacters(text)
  if (plain.trim() === '') return null
  guardTextExtent(plain, width, as.size)
  const { r, g, b } = as.colour
  const hex = [r, g, b].map((one) => one.toString(16).padStart(2, '0')).join('')
  const options = {
    text: `<span foreground="#${hex}">${escapeMarkup(plain)}</span>`,
    font: `${FONT_FAMILIES[as.font]}${as.bold ? ' Bold' : ''} ${as.size}`,
    align: as.align === 'center' ? ('centre' as const) : as.align,
    dpi: 72,
    rgba: true,
    width,
    wrap: 'word-char' as const,
  }
  return imageFromPixels(await readPixels(sharp({ text: options })))
}

/** Keeps what XML and Pango allow: no control characters except line ends and tabs, and no lone surrogates. */
export function removeControlCharacters(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
  const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffe\uffff]/g
  return text
    .replace(/\r\n?/g, '\n')
    .replace(controls, '')
    .replace(/\p{Cs}/gu, '\ufffd')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text for markup. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"']/g, (one) => ENTITIES[one]!)
}

/** Counts lines with narrow letters: a text that would fit is never refused, and the size of the image stays bounded. */
function guardTextExtent(text: string, width: number, size: number): void {
  if (text.length > LONGEST_TEXT)
    throw new MediaFault('too_large', `The text has more than ${LONGEST_TEXT.toLocaleString('en')} characters.`)
  const each = Math.max(1, Math.floor(width / (size * 0.3)))
  const lines = text.split('\n').reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / each)), 0)
  if (lines * size > LONGEST_SIDE) throw new MediaFault('too_large', 'The text is too long for this size and width.')
}

export async function readImageSize(image: Sharp): Promise<{ width: number; height: number }> {
  const { width, height } = await mapImageErrors(() => image.metadata())
  return { width, height }
}
