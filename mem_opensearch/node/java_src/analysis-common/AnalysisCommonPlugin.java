/*
 * Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
 * the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
 */
package org.memopensearch.common;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.th.ThaiTokenizer;
import org.opensearch.index.analysis.AnalyzerProvider;
import org.opensearch.index.analysis.PreBuiltAnalyzerProviderFactory;
import org.opensearch.indices.analysis.AnalysisModule.AnalysisProvider;

/**
 * OpenSearch's own module, less its analyzer for Thai where Java has no dictionary for Thai.
 *
 * <p>Every index builds every analyzer that there is when it is made. On a Java that was cut down to a few languages, as
 * the one from PyPI is, this one can't be built, and so no index could be made at all.
 */
public class AnalysisCommonPlugin extends SUPERCLASS {
    private static final String THAI = "thai";

    @Override
    public Map<String, AnalysisProvider<AnalyzerProvider<? extends Analyzer>>> getAnalyzers() {
        Map<String, AnalysisProvider<AnalyzerProvider<? extends Analyzer>>> all = new HashMap<>(super.getAnalyzers());
        if (!ThaiTokenizer.DBBI_AVAILABLE) {
            all.remove(THAI);
        }
        return all;
    }

    @Override
    public List<PreBuiltAnalyzerProviderFactory> getPreBuiltAnalyzerProviderFactories() {
        return super.getPreBuiltAnalyzerProviderFactories().stream()
                .filter(factory -> ThaiTokenizer.DBBI_AVAILABLE || !factory.getName().equals(THAI))
                .collect(Collectors.toList());
    }
}
