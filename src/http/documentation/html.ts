// HTML as text, in which values are escaped unless they are HTML already.
import { escapeMarkup } from '../../shared/markup-escape.ts'

/** A piece of HTML. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type HtmlValue = string | number | Html | readonly Html[]

/** The template with its values: texts are escaped, pieces of HTML are taken as they are. */
export function html(texts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(texts.reduce((text, next, index) => text + toText(values[index - 1]!) + next))
}

function toText(value: HtmlValue): string {
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(({ text }) => text).join('')
  return escapeMarkup(String(value))
}
