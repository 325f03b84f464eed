/** Nearer to the end than this counts as being there. */
const AT_END_PX = 48

interface Anchor {
  element: Element
  /** Below the upper edge of what is seen. */
  offset: number
}

/**
 * Keeps what a person looks at where it is, while things come, go and grow around it; or the end, for whoever is at the end.
 * Browsers' own anchoring is switched off in the style sheet: not all have it, and two would fight.
 */
export class ScrollKeeper {
  readonly #scroller: HTMLElement
  readonly #onChange: (following: boolean) => void
  #following = true
  #anchor: Anchor | undefined
  #top = 0

  constructor(scroller: HTMLElement, onChange: (following: boolean) => void) {
    this.#scroller = scroller
    this.#onChange = onChange
  }

  get nearTop(): boolean {
    const { scrollTop, clientHeight } = this.#scroller
    return clientHeight > 0 && scrollTop < 2 * clientHeight
  }

  /** Somebody scrolled, or we did. */
  scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller
    const atEnd = scrollHeight - scrollTop - clientHeight < AT_END_PX
    // Away from the end without having moved up: the list got longer or lower, nobody scrolled.
    if (atEnd) this.#follow(true)
    else if (scrollTop < this.#top) this.#follow(false)
    this.#top = scrollTop
    this.#anchor = this.#find()
  }

  /** Something changed its size: before it is painted, everything is put back to where it was. */
  settle(): void {
    const scroller = this.#scroller
    if (scroller.clientHeight === 0) return
    if (this.#following) scroller.scrollTop = scroller.scrollHeight
    else if (this.#anchor?.element.isConnected)
      scroller.scrollTop += this.#offsetOf(this.#anchor.element) - this.#anchor.offset
    this.#top = scroller.scrollTop
    if (!this.#following && !this.#anchor?.element.isConnected) this.#anchor = this.#find()
  }

  toEnd(): void {
    this.#follow(true)
    this.settle()
  }

  toTop(): void {
    this.#follow(false)
    this.#scroller.scrollTop = 0
    this.scrolled()
  }

  /** Puts this a little below the upper edge. */
  show(element: Element): void {
    this.#follow(false)
    this.#anchor = { element, offset: this.#scroller.clientHeight / 5 }
    this.settle()
  }

  #follow(following: boolean): void {
    if (this.#following === following) return
    this.#following = following
    this.#onChange(following)
  }

  #offsetOf(element: Element): number {
    return element.getBoundingClientRect().top - this.#scroller.getBoundingClientRect().top
  }

  /** The first item that can be seen, or the chunk where its items are not drawn. */
  #find(): Anchor | undefined {
    const chunk = this.#firstSeen(this.#scroller.querySelectorAll('[data-chunk]'))
    const element = (chunk && this.#firstSeen(chunk.children)) ?? chunk
    return element && { element, offset: this.#offsetOf(element) }
  }

  #firstSeen(elements: ArrayLike<Element>): Element | undefined {
    const edge = this.#scroller.getBoundingClientRect().top
    let low = 0
    let high = elements.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (elements[middle]!.getBoundingClientRect().bottom > edge) high = middle
      else low = middle + 1
    }
    return elements[low]
  }
}
