// Texts of others in messages: never longer than a reader wants.

export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}

/** A value as messages show it. */
export function shortValue(value: string | number): string {
  return cut(String(value), 40)
}
