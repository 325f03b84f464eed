/** Of any text that is put before a model at once: about 25,000 tokens. */
export const TEXT_LIMIT = 100_000

/** With a word about it where something was left out. */
export const cut = (text: string, limit: number = TEXT_LIMIT): string =>
  text.length <= limit ? text : `${text.slice(0, limit).toWellFormed()}\n[cut: ${text.length - limit} more characters]`

/** Text of others as data: marked off so that it can neither end its own mark nor begin another. */
export function framed(tag: string, attributes: Record<string, string>, text: string): string {
  const written = Object.entries(attributes).map(([name, value]) => ` ${name}="${oneLine(value).replaceAll('"', "'")}"`)
  const inside = cut(text.trim()).replaceAll(new RegExp(`<(/?${tag})`, 'gi'), '<\\$1')
  return `<${tag}${written.join('')}>\n${inside}\n</${tag}>`
}

/** For lists and reports, whatever somebody put into it. */
export const oneLine = (text: string, limit = 300): string => {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()
  return line.length <= limit ? line : `${line.slice(0, limit - 1).toWellFormed()}…`
}

/** Characters nobody sees, with which a file can say something else to a model than to its reader: tags, and marks of direction. */
export const visible = (text: string): string => text.replace(/[\u{e0000}-\u{e007f}\u202a-\u202e\u2066-\u2069]/gu, '')
