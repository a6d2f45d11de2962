// Text as pixels, in the fonts that come with the service. Pango sets it, whose markup the text must not be.
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
  /** In pixels, of a line's letters. */
  readonly size: number
  readonly colour: Colour
  readonly align: 'left' | 'center' | 'right'
}

/**
 * A picture as large as its letters, or null for a text without any. Lines break at the width, in words if need be.
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

/** What XML and Pango can hold: no control characters but line ends and tabs, no halves of pairs. */
export function removeControlCharacters(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
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

/** A text as markup that means the text. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"']/g, (one) => ENTITIES[one]!)
}

/** Lines are counted as if letters were narrow: nothing that would fit is refused, and what is made stays bounded. */
function guardTextExtent(text: string, width: number, size: number): void {
  if (text.length > LONGEST_TEXT)
    throw new MediaFault('too_large', `The text has more than ${LONGEST_TEXT.toLocaleString('en')} characters.`)
  const each = Math.max(1, Math.floor(width / (size * 0.3)))
  const lines = text.split('\n').reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / each)), 0)
  if (lines * size > LONGEST_SIDE)
    throw new MediaFault('too_large', 'The text is too long to be set in this size and width.')
}

export async function readImageSize(image: Sharp): Promise<{ width: number; height: number }> {
  const { width, height } = await mapImageErrors(() => image.metadata())
  return { width, height }
}
