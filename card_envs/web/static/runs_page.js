export class RunsPage { constructor(page) { page.replaceChildren(); } }
